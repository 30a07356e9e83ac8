"""Which of mpi4py's test files are run, how a method is run on the ranks of a launch, and why some are not for us."""

from __future__ import annotations

import re
from collections import Counter

from reference.perf.pace import pace
from reference.worlds import launch
from reference.worlds.real.holder import close_job
from tests.conformance import methods, names, source

FILES = {  # what is run: a file of mpi4py's tests, and what it is about
    "test_msgspec": "specifications of buffers",
    "test_msgzero": "messages of nothing",
    "test_p2p_buf": "messages of buffers",
    "test_p2p_buf_matched": "matched messages of buffers",
    "test_p2p_obj": "messages of objects",
    "test_p2p_obj_matched": "matched messages of objects",
    "test_cco_buf": "collectives",
    "test_cco_nb_buf": "nonblocking collectives",
    "test_cco_vec": "v-collectives",
    "test_cco_nb_vec": "nonblocking v-collectives",
    "test_cco_obj": "collectives of objects",
    "test_request": "requests that are null",
    "test_status": "statuses",
    "test_group": "groups",
    "test_comm": "communicators",
    "test_comm_topo": "grids",
    "test_op": "operations",
    "test_datatype": "datatypes",
    "test_errhandler": "error handlers",
    "test_rma": "windows",
    "test_rma_nb": "windows with requests",
    "test_ulfm": "ranks that fail",
}

RANKS = (1, 2, 3, 5)
FEWER = {"test_rma": (1, 2), "test_rma_nb": (1, 2, 3)}  # where each pair of ranks tries every type: minutes of CPU
WORLDS = ("virtual", "mpi")
RUNS = [(file, ranks) for file in FILES for ranks in FEWER.get(file, RANKS)]

NOT_RUN = {  # why other files of mpi4py's tests are not for us
    "mpi4py's own inside: handles, attributes, its package": "address attributes buffer cffi ctypes doc environ "
    "errorcode handle info mpiabi mpiapi mpimem objmodel package pickle subclass threads toplevel",
    "groups of processes that meet later": "cco_buf_inter cco_obj_inter cco_vec_inter comm_inter dynproc spawn session",
    "neighbours, persistent collectives, parts of messages": "cco_ngh_buf cco_ngh_obj cco_pr_ngh_buf cco_pr_buf "
    "cco_pr_vec p2p_buf_part",
    "files, packing, requests of one's own": "file io pack grequest",
    "what mpi4py builds upon MPI": "util_dtlib util_pkl5 util_pool util_sync",
    "errors of calls that are not offered; windows over memory of the program's own": "exceptions win",
}

REFUSED = {  # why a call is refused: how the refusal begins
    "two other calls say the same": r"(Isendrecv\w*|Sendrecv_replace)\b",
    "buffered and ready sends: launch(buffered=True) shows the effect": r"(Attach_buffer|Detach_buffer|Flush_buffer|"
    r"\w*[bB]send\w*|\w*[rR]send\w*)\b",
    "prefix sums: no chapter needs them": r"I?[Ee]?x?[Ss]can",
    "types for each rank, absolute addresses, structures": r"(I?[Aa]lltoallw|Get_address|BOTTOM|Create_s|Create_d)",
    "lower-case calls for lists of requests, and a look at a list": r"Request\.",
    "objects that no call makes": r"(Message|\w*comm|Comm|Group|Win|Info|Errhandler|Datatype|Op)(\(|\.)",
    "kinds, hints, and questions about them": r"(Split_type|Set_errhandler|\w+_info\b|Idup|Get_topology|\w*topo)",
    "graphs, and questions about grids": r"(Compute_dims|Get_dim|n?dim\b|Create_graph|Create_dist|dims|periods)",
    "processes that come and go (chapter 13)": r"(Get_parent|Join|Disconnect)",
    "what needs a running MPI, or a type that NumPy has not": r".*(no elements that|item of more|while MPI is)",
    "another call of the rest of MPI (reference.mpi.API)": r"",
}

DIFFERENT = {  # what fails on purpose, and why
    r"virtual test_op \w+\.testCreateMany": "the number of operations has no limit",
    r"\w+ test_op \w+\.testPickleUserDefined": "operations of one's own can be pickled: they travel with a program",
    r"virtual test_comm TestCommNull\.testGetName": "COMM_NULL has no name without a running MPI",
    r"mpi test_comm_topo \w+\.test(Cart|Graph|Distgraph)comm\w*": "noted communicators are of subclasses of mpi4py's",
    r"\w+ test_(comm|group) \w+\.testPickle": "communicators and groups belong to one launch, null ones too",
    r"mpi test_datatype TestDatatype\.testCodeCharStr": "a type whose elements NumPy has not has no code here",
    r"virtual test_errhandler \w+\.(testCreate|testErrorsReturn|testGetFree)": "the only error handler is a constant",
    r"\w+ test_ulfm TestULFMInter\.\w+": "there are no communicators between two groups here",
    r"\w+ test_msgspec TestMessageCAIBuf\.testDescrWarning": "there is no GPU whose structures could be described",
}


def together(file: str, methods_: list[str], ranks: int, world: str) -> list[tuple[str, str]]:
    """What the methods say, in one launch; the first of those on any rank that did not pass. Raises what it raises."""
    limit = (20 + 2 * len(methods_)) * pace()
    told = launch(methods.run_methods, ranks, str(source.folder()), file, methods_, world=world, timeout=limit).results
    order = ("failed", "refused", "skipped", "passed")
    return [min(by_rank, key=lambda one: order.index(one[0])) for by_rank in zip(*told, strict=True)]


def outcome(file: str, method: str, ranks: int, world: str) -> tuple[str, str]:
    """("passed" | "skipped" | "refused" | "different" | "failed", why) of one method."""
    names.REFUSALS.clear()
    try:
        ((kind, why),) = together(file, [method], ranks, world)
    except Exception as error:
        kind, why = "failed", f"{type(error).__name__}: {error}"
    if kind in ("failed", "skipped") and names.REFUSALS:
        return "refused", names.REFUSALS[0]  # what it did then, after a call that it did not get
    if kind == "failed":
        for pattern, known in DIFFERENT.items():
            if re.fullmatch(pattern, f"{world} {file} {method}"):
                return "different", known
    return kind, why


def outcomes(file: str, ranks: int, world: str) -> dict[str, tuple[str, str]]:
    """Those of all methods of a file: real ones together, as far as that goes, for a launch takes them long."""
    found: dict[str, tuple[str, str]] = {}
    if file == "test_errhandler":
        close_job()  # these leave handlers behind, of which mpi4py has 32 in a process
    listed = launch(methods.methods, ranks, str(source.folder()), file, world=world).results[0]
    if world == "mpi":
        try:
            told = together(file, listed, ranks, world)
            found = {method: one for method, one in zip(listed, told, strict=True) if one[0] != "failed"}
        except Exception:
            pass  # one of them ended it: each by itself then
    return {method: found.get(method) or outcome(file, method, ranks, world) for method in listed}


def reason(refusal: str) -> str:
    """Why a call is refused."""
    return next(why for why, pattern in REFUSED.items() if re.match(pattern, refusal))


def run_file(file: str, ranks: int, world: str) -> tuple[Counter, Counter, list[str]]:
    """How many methods came out how, the reasons of refusals and differences, and what failed, with its end."""
    counts, reasons, failures = Counter(), Counter(), []
    for method, (kind, why) in outcomes(file, ranks, world).items():
        counts[kind] += 1
        if kind == "failed":
            failures.append(f"{world} {file} {method} on {ranks} ranks: {why[-1500:]}")
        elif kind in ("refused", "different"):
            reasons[reason(why) if kind == "refused" else why] += 1
    return counts, reasons, failures
