"""Loading timm models by name, from the hub's cache and from folders: safetensors or a sentence."""

import http.server
import json
import socket
import threading

import numpy as np
import pytest
import timm
import torch
from huggingface_hub import constants
from PIL import Image
from safetensors.torch import save_file

from core.errors import InputError
from core.models.files import hub
from core.models.vision.images import Picture
from core.models.vision.model import load_timm


def picture(height, width):
    noise = np.random.default_rng(0).integers(0, 255, (height, width, 3), dtype=np.uint8)
    return Picture(Image.fromarray(noise), "noise")


@pytest.fixture
def saved(tmp_path):
    """timm's smallest vision transformer in a folder, with random weights."""
    torch.manual_seed(0)
    module = timm.create_model("test_vit")
    folder = tmp_path / "mine"
    folder.mkdir()
    save_file(module.state_dict(), folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps({"architecture": "test_vit"}))
    return folder, module.eval()


def as_hub_cache(folder, cache, repo):
    """Lay a folder out as the hub's client keeps what it fetched."""
    root = cache / f"models--{repo.replace('/', '--')}"
    (root / "refs").mkdir(parents=True)
    (root / "refs" / "main").write_text("0" * 40)
    (root / "snapshots").mkdir()
    folder.rename(root / "snapshots" / ("0" * 40))


@pytest.mark.parametrize(
    ("repo", "name"),
    [
        ("timm/test_vit.r160_in1k", "test_vit.r160_in1k"),
        ("timm/test_vit.r160_in1k", "timm/test_vit.r160_in1k"),
        ("me/mine", "me/mine"),
    ],
)
def test_what_the_hubs_cache_holds_loads_without_the_hub(saved, tmp_path, monkeypatch, repo, name):
    folder, module = saved
    as_hub_cache(folder, tmp_path, repo)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    found = load_timm(name).run(picture(160, 160))
    with torch.inference_mode():
        wanted = module.forward_features(found.prepared.tensors["pixels"])
    torch.testing.assert_close(found.output.hidden, wanted)


@pytest.mark.parametrize(
    "config",
    [
        {"architecture": "test_vit"},
        {
            "architecture": "test_vit",
            "pretrained_cfg": {"input_size": [3, 160, 160], "fixed_input_size": True},
        },
    ],
    ids=["bare", "as timm saves it"],
)
def test_a_folder_loads_and_takes_other_sizes(saved, config):
    folder, module = saved
    (folder / "config.json").write_text(json.dumps(config))
    model = load_timm(folder, long_side=96)
    assert model.name == "mine"
    assert model.run(picture(64, 96)).prepared.geometry.grid == (4, 6)
    assert model.labels == ()
    for name, tensor in module.state_dict().items():
        torch.testing.assert_close(model.module.state_dict()[name], tensor)


def test_a_folder_keeps_its_own_number_of_classes(saved):
    folder, _ = saved
    module = timm.create_model("test_vit", num_classes=3)
    save_file(module.state_dict(), folder / "model.safetensors")
    (folder / "config.json").write_text('{"architecture": "test_vit", "num_classes": 3}')
    torch.testing.assert_close(load_timm(folder).module.head.weight, module.head.weight)


def test_a_pickle_is_never_opened(saved):
    folder, _ = saved
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(InputError, match=r"only in pytorch_model\.bin, a pickle.*safetensors"):
        load_timm(folder)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda folder: (folder / "model.safetensors").unlink(), "weights in safetensors"),
        (lambda folder: (folder / "config.json").unlink(), r"with a config\.json; it has none"),
        (lambda folder: (folder / "config.json").write_text("{"), 'timm\'s "architecture"'),
        (
            lambda folder: (folder / "config.json").write_text('{"architecture": "resnet18"}'),
            "'mine' is a ResNet",
        ),
        (
            lambda folder: (folder / "config.json").write_text('{"architecture": "test_vit2"}'),
            "weights that fit its architecture",
        ),
        (
            lambda folder: (folder / "config.json").write_text('{"architecture": "test_vitt"}'),
            "timm knows no 'test_vitt'; near it are test_vit",
        ),
        (
            lambda folder: (folder / "model.safetensors").write_bytes(b"version https://git-lfs"),
            "weights that fit its architecture",
        ),
    ],
)
def test_a_folder_that_cannot_be_loaded_says_why(saved, spoil, message):
    folder, _ = saved
    spoil(folder)
    with pytest.raises(InputError, match=message):
        load_timm(folder)


def test_a_folder_that_is_not_there_is_named():
    with pytest.raises(InputError, match="no folder '/no/such'"):
        load_timm("/no/such")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("vit_bas_patch16_224", "near it are vit_base_patch16_224"),
        ("vit_base_patch16_224.nope", "it has vit_base_patch16_224.augreg"),
        ("resnet18", "'resnet18' is a ResNet"),
        ("qqq", "timm knows no 'qqq'"),
    ],
)
def test_a_name_that_is_no_vision_transformer_gets_a_sentence(name, message):
    with pytest.raises(InputError, match=message):
        load_timm(name)


def test_offline_the_hub_is_not_asked(monkeypatch, tmp_path):
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(InputError, match="HF_HUB_OFFLINE is set"):
        load_timm("vit_base_patch16_224")


@pytest.fixture
def online(monkeypatch, tmp_path):
    """A machine that may ask the hub, with nothing in its cache and no proxy."""
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(hub.urllib.request, "getproxies", dict)


@pytest.fixture
def hanging():
    """A call that comes back only when the test is over."""
    over = threading.Event()

    def hang(*_, **__):
        assert over.wait(60)
        raise ConnectionError

    yield hang
    over.set()


def test_a_hub_that_refuses_is_no_connection(monkeypatch, online):
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    monkeypatch.setattr(constants, "ENDPOINT", f"http://127.0.0.1:{port}")
    with pytest.raises(InputError, match=r"to fetch 'me/mine' \(no connection\)"):
        load_timm("me/mine")


@pytest.mark.parametrize("step", ["getaddrinfo", "create_connection"])
def test_a_hub_that_hangs_is_given_up(monkeypatch, online, hanging, step):
    monkeypatch.setattr(hub, "PROBE_SECONDS", 0.1)
    monkeypatch.setattr(hub.socket, step, hanging)
    with pytest.raises(InputError, match=r"to fetch 'me/mine' \(no answer within 4 seconds\)"):
        load_timm("me/mine")


@pytest.fixture
def silent():
    """The address of a server that takes connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}"


@pytest.mark.parametrize("through", ["endpoint", "proxy"])
def test_a_hub_that_takes_the_call_and_never_answers_is_given_up(
    monkeypatch, online, silent, through
):
    endpoint, proxies = (
        (silent, {}) if through == "endpoint" else ("http://hub.invalid", {"http": silent})
    )
    monkeypatch.setattr(constants, "ENDPOINT", endpoint)
    monkeypatch.setattr(hub.urllib.request, "getproxies", lambda: proxies)
    monkeypatch.setattr(hub, "PROBE_SECONDS", 0.2)
    with pytest.raises(InputError, match=r"\(no answer within 4 seconds\)"):
        hub.require_hub("me/mine")


def test_a_name_that_nobody_knows_is_no_connection(monkeypatch, online):
    def unknown(*_, **__):
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(hub.socket, "getaddrinfo", unknown)
    with pytest.raises(InputError, match=r"\(no connection\)"):
        hub.require_hub("me/mine")


def test_any_status_is_an_answer(monkeypatch, online):
    class Busy(http.server.BaseHTTPRequestHandler):
        def do_HEAD(self):  # noqa: N802, the server's name for it
            self.send_response(503)
            self.end_headers()

        def log_message(self, *_):
            """Nothing on the console."""

    with http.server.HTTPServer(("127.0.0.1", 0), Busy) as server:
        monkeypatch.setattr(constants, "ENDPOINT", f"http://127.0.0.1:{server.server_port}")
        answer = threading.Thread(target=server.handle_request)
        answer.start()
        hub.require_hub()
        answer.join()
