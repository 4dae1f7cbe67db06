# The Debian packages that Fanfare needs, by purpose, and how they get onto the machine. Sourced by ./run and ./test:
#
#   . tools/install_packages.sh
#   fanfare_install build test      # returns 0: all there; exits 2: cannot install, and prints the command to run
#
# Nothing is done when nothing is missing. As root, or with sudo, apt-get installs what is missing.

FANFARE_PACKAGES_build="cmake ninja-build g++ ccache pkg-config libboost1.81-dev liburing-dev libssl-dev libsimdjson-dev
  libfmt-dev libspdlog-dev libcli11-dev libyaml-cpp-dev libpugixml-dev libsqlite3-dev libpq-dev
  libcurl4-openssl-dev zlib1g-dev"
FANFARE_PACKAGES_test="git libgtest-dev libgmock-dev librapidcheck-dev libbenchmark-dev clang libclang-rt-14-dev lld
  binutils python3 python3-venv python3-boto3 awscli openssl curl strace procps"
FANFARE_PACKAGES_browser="nodejs npm chromium"
FANFARE_PACKAGES_bench="nginx-light"

# Whether a package is there. Node.js often comes from elsewhere, with npm inside: then the program counts.
fanfare_has_package() {
  case "$1" in
    nodejs) command -v node >/dev/null && return 0 ;;
    npm) command -v npm >/dev/null && return 0 ;;
    nginx-light) [ -x /usr/sbin/nginx ] && return 0 ;;
  esac
  [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

fanfare_install() {
  local purpose list package missing=() as_root=()
  if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    echo "This is no Debian system: nothing is installed here, tools/install_packages.sh lists what is needed." >&2
    return 0
  fi
  for purpose in "$@"; do
    list="FANFARE_PACKAGES_$purpose"
    for package in ${!list}; do
      fanfare_has_package "$package" || missing+=("$package")
    done
  done
  [ ${#missing[@]} -gt 0 ] || return 0

  local install="apt-get install -y --no-install-recommends ${missing[*]}"
  if [ "$(id -u)" != 0 ]; then
    if command -v sudo >/dev/null && { [ -t 0 ] || sudo -n true 2>/dev/null; }; then
      as_root=(sudo)
    else
      echo "Missing packages: ${missing[*]}" >&2
      echo "Install them as root, then start again:" >&2
      echo "  apt-get update && $install" >&2
      exit 2
    fi
  fi
  echo "Installing ${#missing[@]} Debian packages: ${missing[*]}"
  local log
  log=$(mktemp)
  # RUNLEVEL=1 keeps a package that ships a service (nginx) from starting it.
  if ! { "${as_root[@]}" apt-get update -q -o DPkg::Lock::Timeout=300 &&
         "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 apt-get install -q -y \
           --no-install-recommends -o DPkg::Lock::Timeout=300 "${missing[@]}"; } >"$log" 2>&1 </dev/null; then
    tail -n 15 "$log" >&2
    rm -f "$log"
    echo "Installing failed. Mend it and start again; the command was: apt-get update && $install" >&2
    exit 2
  fi
  rm -f "$log"
  case " ${missing[*]} " in
    *" nginx-light "*) fanfare_quiet_nginx "${as_root[@]}" ;;
  esac
}

# The benchmark starts its own nginx on a free port; the packaged service would only take port 80.
fanfare_quiet_nginx() {
  if [ -d /run/systemd/system ]; then
    "$@" systemctl disable --now nginx >/dev/null 2>&1 || true
  elif [ -x /etc/init.d/nginx ] && [ -s /run/nginx.pid ]; then
    "$@" /etc/init.d/nginx stop >/dev/null 2>&1 || true
  fi
}
