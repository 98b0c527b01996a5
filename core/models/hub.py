"""The Hugging Face hub and local folders: safetensors only, never a pickle, never a long wait.

Source: https://huggingface.co/docs/huggingface_hub/package_reference/file_download
"""

import http.client
import socket
import ssl
import threading
import urllib.error
import urllib.request
from pathlib import Path

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
NO_ANSWER = f"no answer within {PROBE_SECONDS:g} seconds"
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
        raise _unreachable(repo, _reason(error.__cause__ or error)) from error
    except EntryNotFoundError as error:
        raise InputError(f"'{repo}' was wanted with a file {filename}; it has none.") from error
    except (HfHubHTTPError, HTTPError, OSError) as error:
        raise _unreachable(repo, _reason(error)) from error


def require_hub(wanted: str = "a model of the hub") -> None:
    """Return if the hub answers within seconds.

    Raises:
        InputError: if it does not, or HF_HUB_OFFLINE forbids to ask it.
    """
    if constants.HF_HUB_OFFLINE:
        raise _unreachable(wanted, "HF_HUB_OFFLINE is set")
    failures: list[str] = []

    def ask() -> None:
        # Built anew each time: it reads the proxies that are set now.
        opener = urllib.request.build_opener()
        request = urllib.request.Request(constants.ENDPOINT, method="HEAD")
        try:
            opener.open(request, timeout=PROBE_SECONDS).close()
        except urllib.error.HTTPError as error:  # any status is an answer
            error.close()
        except (OSError, http.client.HTTPException) as error:
            # A certificate that urllib does not know may be one that the hub's client knows.
            if not isinstance(_cause(error), ssl.SSLCertVerificationError):
                failures.append(_reason(error))
                return
        failures.append("")

    # In a thread: the look-up of a name takes no timeout and can hang far longer than we wait.
    probe = threading.Thread(target=ask, daemon=True)
    probe.start()
    probe.join(timeout=PROBE_SECONDS)
    if failures != [""]:
        raise _unreachable(wanted, failures[0] if failures else NO_ANSWER)


def check_folder(
    path: Path, config: str = "config.json", weights: str = "model.safetensors"
) -> None:
    """Return if a folder holds a model that is safe to load: its config file and safetensors.

    `weights` is how the file is called that the library looks for.

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
                f"as {weights} (safetensors.torch.save_file, or save_pretrained)."
            )
        raise InputError(f"'{path.name}' was wanted with weights in safetensors; it has none.")
    if not (path / config).is_file():
        raise InputError(f"'{path.name}' was wanted with a {config}; it has none.")


def _reason(error: BaseException) -> str:
    """Why the hub gave nothing, in words that a visitor knows."""
    cause = _cause(error)
    response = getattr(error, "response", None)
    if response is not None:
        return f"it answered with the status {response.status_code}"
    if isinstance(cause, TimeoutError):
        return NO_ANSWER
    # A full disk, a folder that cannot be written: the hub is not to blame.
    local = isinstance(cause, OSError) and not isinstance(cause, (ConnectionError, socket.gaierror))
    return cause.strerror if local and cause.filename and cause.strerror else "no connection"


def _cause(error: BaseException) -> BaseException:
    wrapped = error.reason if isinstance(error, urllib.error.URLError) else None
    return wrapped if isinstance(wrapped, BaseException) else error


def _unreachable(wanted: str, reason: str) -> InputError:
    return InputError(
        f"The model hub cannot be reached to fetch '{wanted}' ({reason}): "
        "choose a model that needs no hub, give a local folder, or try again with a connection."
    )
