# The image that `cauce deploy` refers to, from a clone: `docker build --tag cauce:0.2.0 .`
# It has no compiler: the kernels are compiled into the wheel, for all levels of processors.
FROM python:3.11-slim AS build

RUN apt-get update && apt-get install --yes --no-install-recommends binutils
COPY . /clone
RUN /clone/scripts/wheel.sh /wheel

FROM python:3.11-slim

ENV PYTHONSAFEPATH=1 PYTHONUNBUFFERED=1

COPY requirements.lock /opt/requirements.lock
# The compiler of the kernels is in the lock for clones alone.
RUN pip install --no-cache-dir --disable-pip-version-check --require-hashes --only-binary :all: -r /opt/requirements.lock \
    && pip uninstall --quiet --yes --root-user-action ignore llvmlite numba

COPY --from=build /wheel /opt/wheel
RUN pip install --no-cache-dir --disable-pip-version-check --no-deps --root-user-action ignore /opt/wheel/cauce-*.whl

RUN useradd --uid 10001 --user-group --home-dir /var/lib/cauce --shell /usr/sbin/nologin cauce \
    && install --directory --owner cauce --group cauce --mode 700 /var/lib/cauce

# The probes of the deployments.
COPY src/cauce/lab/deploy/templates/image/bin/cauce-alive src/cauce/lab/deploy/templates/image/bin/cauce-wait /usr/local/bin/

# They are not in the lock file and would never be updated.
RUN python -m pip uninstall --quiet --yes --root-user-action ignore setuptools wheel pip

USER 10001:10001
WORKDIR /var/lib/cauce
EXPOSE 8080
ENTRYPOINT ["cauce"]
