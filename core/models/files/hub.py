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
MOST_LETTERS = 250  # of a name that is no folder's: the hub's have fewer
SHOWN = 80  # letters of a bad name in a message
CLIP_CONFIG = "open_clip_config.json"  # what only folders of open_clip have
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
        said = f"'{repo}' was wanted with a file {filename}; it has none"
        if not filename.endswith(".safetensors"):
            raise InputError(f"{said}.") from error
        raise pickle_refused(
            f"{said}, and any other file of its weights is probably a pickle"
        ) from error
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
            said = f"'{path.name}' has its weights only in {pickles[0]}, a pickle"
            raise pickle_refused(said, config, weights)
        raise InputError(f"'{path.name}' was wanted with weights in safetensors; it has none.")
    if not (path / config).is_file():
        raise InputError(f"'{path.name}' was wanted with a {config}; it has none.")


def folder_of(name: str) -> Path | None:
    """The folder of this name, if there is one.

    Raises:
        InputError: if no file can have such a name.
    """
    try:
        folder = Path(name).expanduser()
        if folder.is_dir():
            return folder
        if len(name) <= MOST_LETTERS:
            return None
        reason = None
    # No home of that user, a name that is too long, a null character.
    except (OSError, RuntimeError, ValueError) as error:
        reason = error
    came = name if len(name) <= SHOWN else f"{name[:SHOWN]}..."
    raise InputError(f"The name of a model or a folder was wanted; '{came}' came.") from reason


def check_not_file(name: str) -> None:
    """Return unless this is the name of a file, or of what would be a pickle.

    Raises:
        InputError: if it is; the message names the way out.
    """
    if name.lower().endswith(PICKLES):
        raise pickle_refused(f"Weights in safetensors were wanted; '{name}' is a pickle")
    if Path(name).expanduser().is_file():
        raise InputError(
            f"A folder with a model was wanted; '{name}' is a file: give the folder that holds it."
        )


def pickle_refused(
    said: str, config: str = "config.json", weights: str = "model.safetensors"
) -> InputError:
    """The error that ends with the way out; `said` ends with 'a pickle'."""
    return InputError(
        f"{said}, which can run code when it is opened: if you trust it, load it where it was made "
        f"and save it as {weights} (safetensors.torch.save_file, or save_pretrained) beside its "
        f"{config}, and give that folder."
    )


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
