"""Mutations of the defences of a service, and of commands, against other users of the machine."""

from __future__ import annotations

from tests.mutations.mutation import Attack, Mutation, Replacement, in_file

PRIVATE_FILES = "tests/process/test_private_files.py"
PRIVATE_SERVICE = "tests/cli/test_private_service.py"
OUTPUT_DIR = "tests/runner/test_output_dir.py"
WORK_DIR = "tests/runner/test_work_dir.py"
STORE = "tests/scan/native/test_store.py"
REFERENCES = "tests/gateway/jobs/test_part_validation.py"
ADDRESS = "tests/fabric/test_address.py"
UDP = "tests/doctor/messaging/test_udp.py"
STARTUP = "tests/service/test_startup.py"

READING = Attack(
    "read rows, tokens or keys in the service's directory, or lock its files",
    (
        Mutation(
            "directories-follow-the-umask",
            "Directories of the service could be entered by other users.",
            in_file("process/private_files.py", ("os.mkdir(path, DIRECTORY_MODE)", "os.mkdir(path)")),
            (f"{PRIVATE_FILES}::test_a_directory_is_private_and_its_parents_have_the_usual_permissions",),
        ),
        Mutation(
            "files-follow-the-umask",
            "Files of the service could be read by other users.",
            in_file(
                "process/private_files.py",
                ("DIRECTORY_MODE, FILE_MODE = 0o700, 0o600", "DIRECTORY_MODE, FILE_MODE = 0o700, 0o666"),
            ),
            (f"{PRIVATE_FILES}::test_a_file_is_private",),
        ),
        Mutation(
            "job-directories-follow-the-umask",
            "Directories of jobs could be entered by other users.",
            in_file("fabric/files/jobs.py", ("os.mkdir(aside, DIRECTORY_MODE)", "os.mkdir(aside)")),
            (f"{WORK_DIR}::test_everything_in_it_is_private",),
        ),
        Mutation(
            "libraries-write-with-the-umask-of-the-user",
            "Files that libraries create for a service, such as metrics, could be read by other users.",
            in_file("service/entrypoints.py", ("    os.umask(UMASK)\n", "    os.umask(0o022)\n")),
            (f"{PRIVATE_SERVICE}::test_everything_that_a_service_creates_is_private",),
        ),
        Mutation(
            "wide-directories-not-reported",
            "A service started in a directory that other users can read without a warning.",
            in_file("service/serve.py", ("        warn_if_wide(self._home.folder)\n", "")),
            (f"{PRIVATE_SERVICE}::test_a_directory_that_others_may_enter_is_reported",),
        ),
    ),
)

PASSWORDS = Attack(
    "read a password in the process list",
    (
        Mutation(
            "process-list-shows-secrets",
            "The process list showed the token and the password of a command.",
            in_file("terminal/invocation.py", ("    if shown != sys.argv[1:]:\n", "    if False:\n")),
            ("tests/terminal/test_invocation.py::test_no_secret_of_a_command_is_in_the_process_list",),
        ),
        Mutation(
            "commands-show-secrets",
            "The command to continue, which messages print, contained the password.",
            in_file("terminal/invocation.py", (', "--fabric": masked_address}', "}")),
            ("tests/terminal/test_invocation.py::test_secrets_are_left_out_of_the_command_to_continue",),
        ),
        Mutation(
            "addresses-masked-up-to-the-first-at",
            "A password with an @ was shown in part.",
            in_file(
                "process/masking.py",
                (
                    '_, at, place = address[len(scheme) :].rpartition("@")',
                    '_, at, place = address[len(scheme) :].partition("@")',
                ),
            ),
            (f"{ADDRESS}::test_a_password_is_not_shown",),
        ),
        Mutation(
            "addresses-masked-by-lower-case-schemes",
            "An address was masked only if its scheme was in lower case.",
            in_file(
                "process/masking.py",
                ('|amqps?:", re.IGNORECASE)', '|amqps?:")'),
                ("    re.IGNORECASE | re.VERBOSE,\n", "    re.VERBOSE,\n"),
            ),
            ("tests/process/test_masking.py::test_addresses_in_texts_are_masked",),
        ),
        Mutation(
            "addresses-checked-by-case",
            "AMQP:// was taken for a path.",
            in_file(
                "fabric/address.py",
                (
                    'return found[1].lower() if found is not None else ""',
                    'return found[1] if found is not None else ""',
                ),
            ),
            (f"{ADDRESS}::test_addresses_are_parsed",),
        ),
        Mutation(
            "addresses-mistyped-become-directories",
            "A mistyped address became a directory whose name contained the password.",
            in_file("fabric/address.py", ("if not address or _NOT_A_PATH.match(address):", "if not address:")),
            (f"{ADDRESS}::test_a_mistyped_address_does_not_become_a_folder",),
        ),
        Mutation(
            "addresses-checked-by-some-commands",
            "Commands did not check --fabric before they ran.",
            in_file("cli/configured.py", ("        check(address)\n", "")),
            ("tests/cli/test_usage.py::test_every_command_checks_the_address_of_its_fabric_before_it_runs",),
        ),
    ),
)

REMOVED_FILES = Attack(
    "a link or a foreign directory where Cauce removes files",
    (
        Mutation(
            "links-followed-to-work-directories",
            "A .cauce-work that was a link was used, and its target was removed.",
            in_file("process/private_files.py", ("found = os.lstat(path)", "found = os.stat(path)")),
            (
                f"{WORK_DIR}::test_a_linked_folder_is_refused_and_its_target_is_left_alone",
                f"{PRIVATE_FILES}::test_a_link_is_not_taken_for_a_directory",
            ),
        ),
        Mutation(
            "foreign-directories-claimed",
            "A directory of another program was taken for one of Cauce's own, and removed.",
            in_file("process/private_files.py", ("if set(os.listdir(path)) - {TAG, LOCK}:", "if False:")),
            (
                f"{WORK_DIR}::test_a_folder_that_is_not_ours_is_refused_and_left_alone",
                f"{PRIVATE_FILES}::test_a_directory_with_other_files_is_not_claimed",
            ),
        ),
        Mutation(
            "foreign-directories-removed",
            "A directory without Cauce's tag was removed.",
            in_file(
                "process/private_files.py", ("if path.is_symlink() or not is_claimed(path):", "if path.is_symlink():")
            ),
            (f"{PRIVATE_FILES}::test_a_directory_that_was_not_claimed_is_not_removed",),
        ),
        Mutation(
            "metrics-removed-before-the-checks",
            "A second `serve` removed the metrics of the running service before it was refused.",
            in_file(
                "service/serve.py",
                (
                    "        claim_metrics(self._home.folder)\n        given = checked(",
                    "        make_metrics(self._home.folder)\n        given = checked(",
                ),
            ),
            (f"{PRIVATE_SERVICE}::test_a_second_service_leaves_the_metrics_of_the_first",),
        ),
    ),
)

TWO_COMMANDS = Attack(
    "two commands that write into one `--out`",
    (
        Mutation(
            "outputs-not-locked",
            "Two commands could write to one directory.",
            in_file(
                "runner/output_dir.py",
                ("            fcntl.flock(fd, operation | fcntl.LOCK_NB)\n            if", "            if"),
            ),
            (
                f"{OUTPUT_DIR}::test_a_directory_is_locked_for_one_command",
                f"{OUTPUT_DIR}::test_a_file_is_not_written_while_another_command_writes_to_its_directory",
            ),
        ),
        Mutation(
            "locks-follow-links",
            "A lock file that was a link was opened and overwritten.",
            in_file(
                "runner/output_dir.py",
                ("os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC", "os.O_CREAT | os.O_RDWR | os.O_CLOEXEC"),
            ),
            (f"{OUTPUT_DIR}::test_a_linked_lock_is_refused",),
        ),
        Mutation(
            "temporary-files-opened-through-links",
            "A temporary file was written through a link that another user had placed.",
            in_file(
                "process/private_files.py",
                (
                    "_EXCLUSIVE = os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC",
                    "_EXCLUSIVE = os.O_CREAT | os.O_CLOEXEC",
                ),
            ),
            (f"{PRIVATE_FILES}::test_a_file_is_not_created_where_another_or_a_link_is",),
        ),
        Mutation(
            "temporary-files-shared",
            "Two writers of one file used the same temporary file.",
            in_file("runner/output_dir.py", ('{secrets.token_hex(8)}.part")', '0000000000000000.part")')),
            (f"{OUTPUT_DIR}::test_two_writers_of_one_file_have_separate_temporary_files",),
            raises=("FileExistsError",),
        ),
    ),
)

KERNELS = Attack(
    "change a compiled kernel in the cache",
    (
        Mutation(
            "kernels-without-a-digest",
            "A kernel in the cache was loaded without a check of its content.",
            in_file(
                "scan/native/store.py",
                ("return body if data[: -len(body) or None] == _header(body) else None", "return body"),
            ),
            (f"{STORE}::test_a_file_with_a_flipped_byte_is_not_read",),
        ),
        Mutation(
            "kernels-of-anyone",
            "A kernel in the cache was loaded although other users could write it.",
            in_file(
                "scan/native/store.py",
                (
                    "if not stat.S_ISREG(found.st_mode) or not _only_owner_writes(found):",
                    "if not stat.S_ISREG(found.st_mode):",
                ),
            ),
            (f"{STORE}::test_a_file_that_others_can_write_is_replaced",),
        ),
        Mutation(
            "kernels-of-other-users",
            "A kernel in the cache was loaded although it belonged to another user.",
            in_file(
                "scan/native/store.py",
                ("return found.st_uid in (0, os.geteuid()) and not by_others", "return not by_others"),
            ),
            (f"{STORE}::test_files_of_other_users_are_not_trusted",),
        ),
        Mutation(
            "kernels-from-directories-of-anyone",
            "Kernels were loaded from a directory that other users could write.",
            in_file("scan/native/store.py", ("return _only_owner_writes(folder.stat())", "return folder.is_dir()")),
            (f"{STORE}::test_a_folder_that_others_can_write_is_not_used",),
        ),
    ),
)

CHANGED_FILES = Attack(
    "change a file after a tenant has submitted a reference to it (`--allow-files`)",
    (
        Mutation(
            "references-into-the-service",
            "A tenant could read the service's own files, if they were below --allow-files.",
            in_file("gateway/jobs/part_validation.py", (" or _containing(real, limits.private):", ":")),
            (
                f"{REFERENCES}::test_a_reference_into_the_service_directory_is_rejected",
                f"{REFERENCES}::test_a_reference_to_a_private_file_is_rejected",
            ),
        ),
        Mutation(
            "allowed-directories-within-the-service",
            "--allow-files accepted a directory within that of the service.",
            in_file("service/gateway_options.py", ("if path.resolve().is_relative_to(folder):", "if False:")),
            ("tests/service/test_gateway_options.py::test_clients_may_not_refer_to_files_of_the_fabric",),
        ),
        Mutation(
            "private-files-unknown-to-gateways",
            "Gateways did not exclude the directory of the service from --allow-files.",
            in_file("service/gateway_options.py", ("named = [folder, *(Path(each)", "named = [*(Path(each)")),
            ("tests/service/test_gateway_options.py::test_files_of_the_service_are_private",),
        ),
        Mutation(
            "references-follow-links-at-the-gateway",
            "A link that replaced a directory after the check of a reference was followed.",
            in_file(
                "gateway/jobs/part_validation.py",
                ("opened = open_nofollow(real)", "opened = os.open(real, os.O_RDONLY)"),
            ),
            (f"{REFERENCES}::test_a_link_put_in_place_after_the_check_is_not_followed",),
        ),
        Mutation(
            "references-follow-links-at-the-worker",
            "A worker followed a link that had replaced a submitted file.",
            in_file(
                "scan/files/file_bytes.py",
                ("opened = open_nofollow(named.path)", "opened = os.open(named.path, os.O_RDONLY | os.O_NONBLOCK)"),
            ),
            (f"{REFERENCES}::test_a_job_fails_if_its_file_no_longer_exists[linked]",),
        ),
        Mutation(
            "references-compared-without-the-time",
            "A file that was rewritten after it was submitted was read.",
            in_file(
                "scan/parts.py",
                (
                    "return cls(found.st_size, found.st_mtime_ns, found.st_ino)",
                    "return cls(found.st_size, 0, found.st_ino)",
                ),
            ),
            (f"{REFERENCES}::test_a_job_fails_if_its_file_was_changed_after_it_was_submitted[rewritten]",),
        ),
        Mutation(
            "references-compared-without-the-inode",
            "A file that was replaced after it was submitted was read.",
            in_file(
                "scan/parts.py",
                (
                    "return cls(found.st_size, found.st_mtime_ns, found.st_ino)",
                    "return cls(found.st_size, found.st_mtime_ns, 0)",
                ),
            ),
            (f"{REFERENCES}::test_a_job_fails_if_its_file_was_changed_after_it_was_submitted[replaced]",),
        ),
        Mutation(
            "references-compared-without-the-size",
            "A file that had grown or shrunk after it was submitted was read.",
            in_file(
                "scan/files/file_bytes.py",
                (
                    "if FileState.of(os.fstat(opened)) != named.state:",
                    "found = os.fstat(opened)\n"
                    "    if (found.st_mtime_ns, found.st_ino) != (named.state.modified_ns, named.state.inode):",
                ),
            ),
            (f"{REFERENCES}::test_a_job_fails_if_its_file_was_changed_after_it_was_submitted[extended]",),
        ),
        Mutation(
            "references-not-compared-by-workers",
            "A worker read a submitted file in whatever state it was.",
            in_file("scan/files/file_bytes.py", ("if FileState.of(os.fstat(opened)) != named.state:", "if False:")),
            (f"{REFERENCES}::test_a_job_fails_if_its_file_was_changed_after_it_was_submitted",),
        ),
    ),
)

DATAGRAMS = Attack(
    "forged or replayed datagrams to doctors",
    (
        Mutation(
            "datagrams-replayed",
            "A recorded datagram could be sent again, for example to kill a worker.",
            in_file(
                "doctor/messaging/freshness.py",
                ("return Freshness.NEW if window.admit(stamp.number) else Freshness.REPEATED", "return Freshness.NEW"),
            ),
            (
                f"{UDP}::test_a_replayed_message_is_dropped",
                "tests/doctor/messaging/test_freshness.py::test_a_datagram_for_another_session_is_rejected",
            ),
        ),
        Mutation(
            "datagrams-of-former-sessions",
            "A datagram from before the start of a doctor could be sent to it again.",
            in_file("doctor/messaging/freshness.py", ("if stamp.receiver != self.session:", "if False:")),
            (f"{UDP}::test_a_message_from_before_the_receivers_start_is_dropped",),
        ),
        Mutation(
            "datagrams-take-effect-before-the-check",
            "A replayed datagram changed the address of its sender before it was dropped.",
            in_file(
                "doctor/messaging/udp.py",
                (
                    "        fresh = self._receiver.admit(envelope.stamp)\n",
                    "        fresh = self._receiver.admit(envelope.stamp)\n"
                    "        self._learn(sender, envelope.stamp.session)\n",
                ),
            ),
            (f"{UDP}::test_a_replayed_message_has_no_effect",),
        ),
        Mutation(
            "datagrams-without-authentication",
            "A datagram with a wrong digest was accepted.",
            in_file(
                "doctor/messaging/envelope.py", ("if not hmac.compare_digest(mac, self._mac_of(data)):", "if not mac:")
            ),
            (
                f"{UDP}::test_messages_with_a_wrong_key_and_garbage_are_ignored",
                "tests/doctor/messaging/test_envelope.py::test_a_message_of_another_key_or_cluster_is_dropped",
            ),
        ),
        Mutation(
            "sockets-bound-to-all-addresses",
            "Sockets of processes received datagrams from other machines although all doctors were on this one.",
            in_file(
                "doctor/messaging/udp.py",
                ("loopback if addresses and all(map(_is_loopback, addresses)) else any_address", "any_address"),
            ),
            (f"{UDP}::test_a_socket_binds_to_loopback_unless_a_doctor_may_be_remote",),
        ),
    ),
)

CONTAINERS = Attack(
    "change files of the host from a container",
    (
        Mutation(
            "container-mounts-writable",
            "Containers could write to the directories of dataset files, certificates and data.",
            in_file("doctor/launch/container.py", ('f"{path}:{path}:ro"', 'f"{path}:{path}"')),
            (f"{STARTUP}::test_containers_can_change_nothing_but_the_folders_of_the_service",),
        ),
        Mutation(
            "containers-may-write-to-their-file-system",
            "Containers of `cauce deploy compose` could write to their whole file system.",
            tuple(
                Replacement(
                    f"src/cauce/lab/deploy/templates/compose/{name}.yaml",
                    "    read_only: true\n",
                    "    read_only: false\n",
                )
                for name in ("gateway", "compose", "doctor")
            ),
            ("tests/lab/deploy/test_compose.py::test_containers_can_write_to_their_mounts_only",),
        ),
    ),
)

INSTALLERS = Attack(
    "old versions of installers in the environment",
    (
        Mutation(
            "pip-stays-in-the-environment",
            "The environment contained pip and setuptools, which no lock file keeps up to date.",
            (
                Replacement(
                    "scripts/environment.sh", "-m pip uninstall --quiet --yes pip setuptools", "-m pip --version"
                ),
            ),
            ("tests/test_environment.py::test_environment_has_neither_pip_nor_setuptools",),
            timeout_s=240.0,
        ),
    ),
)

ATTACKS = (
    READING,
    PASSWORDS,
    REMOVED_FILES,
    TWO_COMMANDS,
    KERNELS,
    CHANGED_FILES,
    DATAGRAMS,
    CONTAINERS,
    INSTALLERS,
)
