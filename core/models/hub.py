"""The Hugging Face hub and local folders: safetensors only, never a pickle, never a long wait.

Source: https://huggingface.co/docs/huggingface_hub/package_reference/file_download
"""

import socket
import threading
import urllib.request
from pathlib import Path
from urllib.parse import urlsplit

from huggingface_hub import constants, hf_hub_download
from huggingface_hub.errors import (
    EntryNotFoundError,
    GatedRepoError,
    HfHubHTTPError,
    HFValidationError,
    HTTPError,
    LocalEntryNotFoundError,
    RepositoryNotFoundError,
)

from core.errors import InputError

PROBE_SECONDS = 4.0
PICKLES = (".bin", ".pt", ".pth", ".ckpt", ".pkl")


def hub_file(repo: str, filename: str) -> Path:
    """One file of a repository on the hub, from the local cache if it is there.

    `repo` is 'owner/name', with '@revision' behind it if need be.

    Raises:
        InputError: if it is neither in the cache nor to be had from the hub.
    """
    repo, _, revision = repo.partition("@")
    wanted = {"repo_id": repo, "filename": filename, "revision": revision or None}
    try:
        return Path(hf_hub_download(**wanted, local_files_only=True))
    except HFValidationError as error:
        raise InputError(f"A name such as 'owner/name' was wanted; '{repo}' came.") from error
    except LocalEntryNotFoundError:
        require_hub(repo)
    try:
        return Path(hf_hub_download(**wanted))
    except GatedRepoError as error:
        raise InputError(
            f"'{repo}' is given only to people who accepted its terms: accept them on its page, "
            "then sign in with 'hf auth login'."
        ) from error
    except RepositoryNotFoundError as error:
        raise InputError(f"The hub knows no model '{repo}', or it is private.") from error
    except LocalEntryNotFoundError as error:  # how the hub's client says that it got no answer
        raise _unreachable(repo, str(error.__cause__ or error)) from error
    except EntryNotFoundError as error:
        raise InputError(f"'{repo}' was wanted with a file {filename}; it has none.") from error
    except (HfHubHTTPError, HTTPError, OSError) as error:
        raise _unreachable(repo, str(error)) from error


def require_hub(wanted: str = "a model of the hub") -> None:
    """Return if the hub answers within seconds.

    Raises:
        InputError: if it does not, or HF_HUB_OFFLINE forbids to ask it.
    """
    if constants.HF_HUB_OFFLINE:
        raise _unreachable(wanted, "HF_HUB_OFFLINE is set")
    host, port = _first_hop(constants.ENDPOINT)
    failures: list[str] = []

    def connect() -> None:
        try:
            socket.create_connection((host, port), timeout=PROBE_SECONDS).close()
        except OSError as error:
            failures.append(str(error))
        else:
            failures.append("")

    # In a thread: the look-up of a name takes no timeout and can hang far longer than we wait.
    probe = threading.Thread(target=connect, daemon=True)
    probe.start()
    probe.join(timeout=PROBE_SECONDS)
    if failures != [""]:
        raise _unreachable(wanted, failures[0] if failures else f"{host} gave no answer")


def check_folder(path: Path) -> None:
    """Return if a folder holds a model that is safe to load: a config.json and safetensors.

    Raises:
        InputError: if it does not; the message names the way out.
    """
    if not path.is_dir():
        raise InputError(f"A folder with a model was wanted; there is no folder '{path}'.")
    files = [file for file in path.iterdir() if file.is_file()]
    if not any(file.suffix == ".safetensors" for file in files):
        pickles = sorted(file.name for file in files if file.suffix in PICKLES)
        if pickles:
            raise InputError(
                f"'{path.name}' has its weights only in {pickles[0]}, a pickle, which can run "
                "code when it is opened: if you trust it, load it where it was made and save it "
                "as model.safetensors (safetensors.torch.save_file, or save_pretrained)."
            )
        raise InputError(f"'{path.name}' was wanted with weights in safetensors; it has none.")
    if not (path / "config.json").is_file():
        raise InputError(f"'{path.name}' was wanted with a config.json; it has none.")


def _first_hop(endpoint: str) -> tuple[str, int]:
    """Host and port that a request to the hub connects to first: a proxy, where one is set."""
    target = urlsplit(endpoint)
    proxy = urllib.request.getproxies().get(target.scheme)
    if proxy and not urllib.request.proxy_bypass(target.hostname or ""):
        target = urlsplit(proxy if "://" in proxy else f"http://{proxy}")
    return target.hostname or "", target.port or (443 if target.scheme == "https" else 80)


def _unreachable(wanted: str, reason: str) -> InputError:
    return InputError(
        f"The model hub cannot be reached to fetch '{wanted}' ({reason.splitlines()[0][:200]}): "
        "choose a model that needs no hub, give a local folder, or try again with a connection."
    )
