# Two commands do everything on a fresh Debian or Ubuntu machine with a Rust toolchain:
#
#   make run     install what is missing, build, and run the daemon in the foreground with the suite `quick`
#   make test    install what is missing, and check everything
#
# and two make packages for other machines, in target/package: make rpm, make deb.

RUN := .run
export BENCHD_MYSQL_DIR ?= $(CURDIR)/.tools/mysql
export BENCHD_MARIADB_DIR ?= $(CURDIR)/.tools/mariadb
export PATH := $(PATH):/usr/sbin:$(CURDIR)/.tools/prometheus/usr/bin

.PHONY: run test test-all lint unit clean-run rpm deb

run: $(RUN)/benchd.toml
	@tests/tools run
	cargo build --release --locked
	@echo "State is kept in $(CURDIR)/$(RUN). Stop with Ctrl-C; 'make clean-run' removes it."
	target/release/benchd --config $(RUN)/benchd.toml serve --run-now quick

$(RUN)/benchd.toml:
	@mkdir -p $(RUN)
	@printf '[server]\nsocket = "%s/benchd.sock"\n\n[store]\npath = "%s/benchd.db"\n' "$(CURDIR)/$(RUN)" "$(CURDIR)/$(RUN)" > $@

clean-run:
	rm -rf $(RUN)

test: lint unit

lint:
	cargo fmt --check
	@tests/tools test
	cargo clippy --locked --all-targets -- -D warnings

unit:
	cargo test --locked --no-fail-fast

test-all: lint
	BENCHD_CAMPAIGN=full cargo test --locked --no-fail-fast -- --include-ignored
	tests/limits
	tests/systemd-versions
	tests/real-disks

rpm deb:
	packaging/build $@
