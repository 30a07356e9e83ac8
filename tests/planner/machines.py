"""Machines for the planner's tests, and plans carried out on the virtual cluster."""

import torch

from reference.networks import Link, uniform
from reference.perf.roofline import Device
from reference.planner.carry_out import LOCAL, carry_out
from reference.planner.sharding import Problem
from reference.planner.strategies import Setting
from reference.worlds import launch

LINK = Link(1e-6, 1e-9, 1e-10)
NODE = Setting(4, Link(1e-6, 1e-11), Device(312e12, 2e12))  # four accelerators of 312 TFLOP/s, 100 GB/s between them
SUMS = Setting(4, LINK, Device(1e9, float("inf")))  # time is that of products and messages
EXACT = Setting(4, LINK, Device(1e12, 1e12), itemsize=8)  # of float64, which is carried out


def drawn(graph):
    """Values of sources, weights, and gradients at sinks, whole, in float64."""
    generator = torch.Generator().manual_seed(0)

    def normal(dims):
        return torch.randn([graph.sizes[dim] for dim in dims], generator=generator, dtype=torch.float64)

    def value(operator):
        if operator.gradient:
            return normal(operator.out)
        return torch.randint(graph.sizes["v"], [graph.sizes[dim] for dim in operator.out], generator=generator)

    return (
        {one.name: value(one) for one in graph.operators if one.kind == "source"},
        {one.name: tuple(map(normal, one.weights)) for one in graph.operators if one.weights},
        {one.name: normal(one.reads[0]) for one in graph.operators if one.kind == "sink"},
    )


def run(plan, tensors=None):
    """The launch in which a plan is carried out."""
    tensors = tensors or drawn(plan.graph)
    network = uniform(*plan.setting.link)
    return launch(lambda comm: carry_out(comm, plan, *tensors), plan.setting.P, network=network)


def together(parts, layout, dims):
    """The whole tensor of what the ranks have of it."""
    if layout.kind == "S":
        return torch.cat(parts, dims.index(layout.dim))
    return sum(parts) if layout.kind == "P" else parts[0]


def results(plan, ranks):
    """Everything that a plan computes, whole: outputs, gradients of sources, gradients of weights."""
    found = {}
    for operator, strategy in zip(plan.graph.operators, plan.chosen):
        name = operator.name
        if operator.kind == "sink":
            found[name] = together([one.outputs[name] for one in ranks], strategy.takes[0].value, operator.reads[0])
        if operator.kind == "source" and operator.gradient:
            found[name] = together([one.gradients[name] for one in ranks], strategy.makes.gradient, operator.out)
        for i, dims in enumerate(operator.weights):
            parts = [one.weights[name][i] for one in ranks]
            found[f"{name} {i}"] = together(parts, strategy.holds[i], dims)
    return found


def serial(graph):
    """The same by whole tensors on one rank; gradients are those of torch, through the whole graph."""
    values, weights, gradients = drawn(graph)
    leaves = {name: x.requires_grad_() for name, x in values.items() if graph[name].gradient}
    for name, own in weights.items():
        leaves |= {f"{name} {i}": weight.requires_grad_() for i, weight in enumerate(own)}
    made, ends = dict(values), {}
    whole = Problem(graph, EXACT._replace(P=1)).choose()
    for operator in graph.operators:
        inputs = [made[x] for x in operator.inputs]
        if operator.kind == "sink":
            ends[operator.name] = inputs[0]
        elif operator.kind != "source":
            strategy = whole.strategy(operator.name)
            made[operator.name] = LOCAL[operator.kind](operator, strategy, 0, *inputs, *weights.get(operator.name, ()))
    sum((ends[name] * gradient).sum() for name, gradient in gradients.items()).backward()
    return {name: x.detach() for name, x in ends.items()} | {name: x.grad for name, x in leaves.items()}
