# Sourced by the scripts beside it. `debian_mirror` prints the address of this machine's Debian mirror, read from
# the lists of apt, which may also name other vendors' archives; nothing where there is none.
debian_mirror() {
  grep -rhoE 'https?://[^] "]+' /etc/apt/sources.list /etc/apt/sources.list.d 2>/dev/null |
    grep -E '/debian/?$' | head -1 || true
}
