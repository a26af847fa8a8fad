# shellcheck shell=bash
# Sourced by setup.sh: the compilers, found or installed.

trixie_sources=/etc/apt/sources.list.d/ex_burn-trixie.sources
trixie_pin=/etc/apt/preferences.d/ex_burn-trixie

need_rust() {
  has cargo || fail "cargo is missing: install Rust from https://rustup.rs"
  say "Rust: $(rustc --version)"
  if ! has cc && on_debian; then
    allow "a C compiler to link with"
    install_packages gcc libc6-dev
  fi
}

need_elixir() {
  if elixir_is_new_enough; then
    say "Elixir: $(elixir --short-version), OTP $(otp_release)"
  elif on_debian; then
    install_elixir
    elixir_is_new_enough || fail "the Elixir on the PATH is still older than 1.18 on OTP 27: $(command -v elixir)"
  else
    fail_for_version_manager
  fi
}

otp_release() {
  erl -noshell -eval 'io:format("~s", [erlang:system_info(otp_release)]), halt().'
}

elixir_is_new_enough() {
  has elixir && has erl &&
    elixir -e 'new = Version.match?(System.version(), ">= 1.18.0") and
               String.to_integer(System.otp_release()) >= 27
               System.halt(if new, do: 0, else: 1)' 2>/dev/null
}

on_debian() {
  has apt-get && grep -qE '^ID(_LIKE)?=.*\b(debian|ubuntu)\b' /etc/os-release
}

as_root() {
  if [[ $EUID -eq 0 ]]; then "$@"; else sudo "$@"; fi
}

# Asks before the system is touched; goes ahead where nobody can answer.
allow() {
  say "This machine needs $1"
  if [[ -n ${YES:-} || -n ${CI:-} || ! -t 0 ]]; then
    return
  fi
  local answer
  read -r -p "Install it with apt-get? [y/N] " answer
  [[ $answer == [yY]* ]] || fail_for_version_manager
}

install_packages() {
  run as_root apt-get update -q
  run as_root env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -q --no-install-recommends "$@"
}

# Debian 13 carries Elixir 1.18 and OTP 27. On an older release they bring
# Debian 13's C library with them, so the pin keeps all else as it is.
install_elixir() {
  local packages=(elixir erlang-dev erlang-hex erlang-eunit ca-certificates curl)
  if elixir_is_on_offer; then
    allow "Elixir 1.18 and OTP 27 from its own package sources"
    install_packages "${packages[@]}"
  else
    allow "Elixir 1.18 and OTP 27 from Debian 13 (trixie), which upgrade the C library (libc6)"
    add_trixie
    install_packages -t trixie "${packages[@]}"
  fi
}

elixir_is_on_offer() {
  local offered
  offered=$(apt-cache policy elixir | sed -n 's/^ *Candidate: //p')
  [[ -n $offered && $offered != "(none)" ]] && dpkg --compare-versions "$offered" ge 1.18 &&
    ! apt-cache policy elixir | grep -qE '^ \*\*\*|^ +100 .*trixie'
}

add_trixie() {
  if apt-cache policy | grep -q n=trixie; then
    return
  fi
  local keyring=/usr/share/keyrings/debian-archive-keyring.gpg
  if [[ ! -e $keyring ]]; then
    install_packages debian-archive-keyring
  fi
  say "Adding Debian 13 to the package sources: $trixie_sources"
  as_root tee "$trixie_sources" >/dev/null <<SOURCES
Types: deb
URIs: http://deb.debian.org/debian
Suites: trixie
Components: main
Signed-By: $keyring
SOURCES
  say "Keeping all other packages at this machine's release: $trixie_pin"
  as_root tee "$trixie_pin" >/dev/null <<PIN
Package: *
Pin: release n=trixie
Pin-Priority: 100
PIN
}

fail_for_version_manager() {
  local advice="install them with mise (https://mise.jdx.dev) or asdf (https://asdf-vm.com)"
  if has mise; then
    advice="run 'mise install' in this folder"
  elif has asdf; then
    advice="run 'asdf install' in this folder"
  fi
  fail "Elixir 1.18 and OTP 27 are needed, as .tool-versions says: $advice"
}
