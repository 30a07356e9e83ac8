"""A processor that does not exist: its matrix products are summed in another order than those of any real one.

With this folder in PYTHONPATH, torch's products of CPU matrices are added up in two parts, last part first. Every
result is as right as before and differs in its last bits, as on a processor that nobody here has.
"""

import importlib.util
import sys
import warnings


def install(torch) -> None:
    """Put our products in place of torch's, in all threads, backward passes included."""
    aten = torch.ops.aten
    library = torch.library.Library("aten", "IMPL")
    install.library = library  # what is dropped is undone

    def product(a, b):
        cut = a.shape[-1] // 3
        room = a.new_empty(a.shape[0], a.shape[1], b.shape[2])
        parts = [slice(cut, None), slice(None, cut)] if cut else [slice(None)]
        return sum(aten.baddbmm.default(room, a[..., part], b[..., part, :], beta=0) for part in parts)

    def product_and_bias(bias, a, b, *, beta=1, alpha=1):
        return beta * bias + alpha * product(a[None], b[None])[0]

    library.impl("mm", lambda a, b: product(a[None], b[None])[0], "CPU")
    library.impl("bmm", product, "CPU")
    library.impl("addmm", product_and_bias, "CPU")


class AfterTorch:
    """Finds torch once, and lets `install` follow its import."""

    def find_spec(self, name, path=None, target=None):
        """The spec of torch, whose loader also installs."""
        if name != "torch":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec("torch")
        load = spec.loader.exec_module

        def load_and_install(module):
            load(module)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # torch says that kernels are replaced: they are meant to be
                install(module)

        spec.loader.exec_module = load_and_install
        return spec


sys.meta_path.insert(0, AfterTorch())
