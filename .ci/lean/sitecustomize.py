"""The tests' processes have optimizers without torch's compiler, which nothing here uses.

The first step of an optimizer imports torch._dynamo, which takes as long as torch, and tests start dozens of processes
with optimizers. Two decorators want it, to keep functions away from a compiler that does not run and to mark where a
graph ends. With this folder in PYTHONPATH they are replaced by ones that do the same without it. Whatever else imports
the compiler has it as ever.
"""

import functools
import importlib.util
import sys


def undecorated(function=None, recursive=True):
    """In place of torch._compile._disable_dynamo: the function itself."""
    return function or (lambda decorated: decorated)


def with_gradients_if_differentiable(step):
    """In place of torch.optim.optimizer._use_grad_for_differentiable: a step, and no mark before and after it."""

    @functools.wraps(step)
    def set_and_step(self, *arguments, **named):
        with sys.modules["torch"].set_grad_enabled(self.defaults["differentiable"]):
            return step(self, *arguments, **named)

    return set_and_step


class Finder:
    """Finds the modules of the decorators, and replaces these as soon as they are there."""

    def __init__(self, replacements):
        self.left = replacements

    def find_spec(self, name, path=None, target=None):
        """The spec that others find, with a loader that also replaces."""
        if name not in self.left:
            return None
        replacement = self.left.pop(name)
        spec = importlib.util.find_spec(name)
        execute = spec.loader.exec_module

        def replace_too(module):
            execute(module)
            setattr(module, *replacement)

        spec.loader.exec_module = replace_too
        return spec


REPLACEMENTS = {
    "torch._compile": ("_disable_dynamo", undecorated),
    "torch.optim.optimizer": ("_use_grad_for_differentiable", with_gradients_if_differentiable),
}
sys.meta_path.insert(0, Finder(REPLACEMENTS))
