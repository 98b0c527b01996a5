"""One thread: small maps are made without torch's other threads, and nobody else loses them."""

import torch

from core.maps.one_thread import one_thread


def test_inside_of_it_products_use_one_thread_and_after_it_all():
    before = torch.get_num_threads()
    with one_thread():
        assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == before
