"""The notebook of examples/ in JupyterLab, as `scripts/notebook.sh` opens it, in light and dark."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.docs.pages import ROOT
from tests.docs.test_notebook import NOT_INSTALLED, NOTEBOOK
from tests.service.running import until
from tests.web.browsing import SCREENSHOTS, WIDE

SCRIPT = ROOT / "scripts/notebook.sh"
READY_S = 120
PATIENCE_MS = 120_000


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the notebook. Jupyter keeps its settings, and saves the notebook, in a folder of the test."""
    installed = subprocess.run([SCRIPT, "--version"], capture_output=True, text=True, check=False)
    if installed.returncode == NOT_INSTALLED:
        pytest.skip(f"JupyterLab cannot be installed: {installed.stderr.strip().splitlines()[-1]}")
    folder = tmp_path_factory.mktemp("lab")
    shutil.copytree(NOTEBOOK.parent, folder / "examples")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    options = ["--no-browser", f"--port={port}", "--IdentityProvider.token=secret", "--allow-root"]
    environment = {**os.environ, "HOME": str(folder)}
    command = [SCRIPT, "lab", folder / "examples" / NOTEBOOK.name, *options]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, cwd=folder, env=environment, stdout=log, stderr=log)
        until("JupyterLab", lambda: "is running at" in (folder / "log").read_text(), READY_S)
        yield f"http://127.0.0.1:{port}/lab/tree/{NOTEBOOK.name}?token=secret"
        process.send_signal(signal.SIGTERM)
        process.wait(60)


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(viewport=WIDE)  # type: ignore[arg-type]
    page = context.new_page()
    page.set_default_timeout(PATIENCE_MS)
    yield page
    context.close()


def choose(page: Page, *path: str) -> None:
    """Chooses an entry of the menus."""
    for step in path[:-1]:
        page.get_by_text(step, exact=True).first.click()
    page.get_by_text(path[-1], exact=True).first.click()


@pytest.mark.soak
@pytest.mark.parametrize("theme", ["JupyterLab Light", "JupyterLab Dark"])
def test_all_cells_run_and_show_their_answers(lab: str, page: Page, theme: str) -> None:
    page.goto(f"{lab}&reset")
    expect(page.locator(".jp-CodeCell").first).to_be_visible()
    expect(page.get_by_text("Python 3 (ipykernel) | Idle")).to_be_visible(timeout=PATIENCE_MS)
    choose(page, "Settings", "Theme", theme)
    choose(page, "Run", "Run All Cells")
    tables = page.locator(".jp-OutputArea-output table")
    expect(page.get_by_text("best_sellers", exact=True)).to_be_visible(timeout=PATIENCE_MS)
    expect(page.get_by_text("remark about the files").or_(page.get_by_text("rejects: values")).first).to_be_visible()
    expect(tables.first).to_be_visible()
    expect(page.locator(".jp-mod-error, [data-mime-type*=error]")).to_have_count(0)
    # Nothing asks whether news may be fetched.
    expect(page.locator(".jp-toastContainer, .Toastify__toast")).to_have_count(0)
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=SCREENSHOTS / f"{theme.replace(' ', '-').lower()}.png")
