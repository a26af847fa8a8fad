# Each command is a script of the same name in scripts/.

COMMANDS := setup demo test conformance suites accuracy bench dist dist-test lint clean

.PHONY: help $(COMMANDS)

help:
	@echo "make setup        toolchain and dependencies, whatever is missing"
	@echo "make demo         trains a classifier on the bundled digits and prints its test accuracy"
	@echo "make test         native tests, then the Elixir suite"
	@echo "make conformance  cases of every operation and type, and the table of them"
	@echo "make suites       Nx's own tests on this backend"
	@echo "make accuracy     errors of the transcendental functions, against mpmath"
	@echo "make bench        workloads timed beside PyTorch and JAX, one table; ARGS=\"--only W3,W6\""
	@echo "make dist         release artifact(s) for this machine: tarball + checksum"
	@echo "make dist-test    the installed-from-artifact path, end to end, on loopback"
	@echo "make lint         formatting and warnings of all that is written here"
	@echo "make clean        removes what was built in this folder"

demo test conformance suites accuracy bench dist-test lint: setup
dist-test: dist

# Setup then prepares the environment that the tests compile in.
test conformance suites: export MIX_ENV = test

$(COMMANDS):
	@bash scripts/$@.sh $(ARGS)
