#!/bin/sh
# A stand-in for nvcc that writes PTX and a "cubin", reports them as ptxas does, and adds a line to its log. A source with
# the word REFUSE does not compile, one with SLEEP takes a minute, DAEMON leaves a process that holds its output for ten
# seconds, too; LEFT leaves one and compiles. KILLED is ended by a signal, CICC has a part of it ended so; with ONCE
# that happens the first time only.
# FULL finds no room on the disk, SILENT fails without a word, GONE removes the cache while it compiles. READS names a file that it says it read,
# UNLISTED makes it say nothing. WRITES adds a line to the source, CHATTY prints 5 MB before it fails.
case "$1" in --version) echo "Cuda compilation tools, release 13.0, V13.0.88"; exit 0;; esac
echo "$@" >> "{log}"
while [ $# -gt 0 ]; do
  case "$1" in -o) output="$2"; shift;; -MF) rule="$2"; shift;; -MD,-MF,*) rule="${1#-MD,-MF,}";; -*) ;; *) input="$1";; esac
  shift
done
if [ -n "$rule" ] && ! grep -q UNLISTED "$input"; then
  printf '%s: %s \\\n' "$output" "$input" > "$rule"
  sed -n 's|^// READS \(.*\)|    \1 \\|p' "$input" >> "$rule"
fi
if grep -q WRITES "$input" && ! { grep -q ONCE "$input" && [ -e "$input.once" ]; }; then
  : > "$input.once"
  echo "// more" >> "$input"
fi
if grep -q CHATTY "$input"; then
  head -c 5000000 /dev/zero | tr '\0' 'x'
  echo
  echo "$input(9): error: the end"
  exit 1
fi
grep -q SLEEP "$input" && sleep 60
grep -q LEFT "$input" && setsid sleep 10 &
grep -q DAEMON "$input" && { setsid sleep 10 & sleep 60; }
if grep -q KILLED "$input" && ! { grep -q ONCE "$input" && [ -e "$input.once" ]; }; then
  : > "$input.once"
  kill -9 $$
fi
if grep -q CICC "$input"; then
  echo "nvcc error   : 'cicc' died due to signal 9 (Kill signal)"
  exit 9
fi
if grep -q FULL "$input"; then
  echo "<built-in>: fatal error: when writing output to $output: No space left on device"
  echo "compilation terminated."
  exit 1
fi
grep -q SILENT "$input" && exit 1
if grep -q "TARGET" "$input"; then
  echo "nvcc fatal   : Unsupported gpu architecture '$(sed -n 's/.*TARGET //p' "$input")'"
  exit 1
fi
if grep -q REFUSE "$input"; then
  echo "$input(3): warning #177-D: variable \"error\" was declared but never referenced"
  echo "$input(7): error: identifier \"REFUSE\" is undefined"
  exit 2
fi
grep -q GONE "$input" && rm -rf "$(dirname "$(dirname "$output")")"
case "$output" in
  *.ptx) printf '.visible .entry k(.param .u64 k_param_0, .param .u64 k_param_1)\n{\n' > "$output"
         printf 'ld.param.u64 %%rd1, [k_param_0];\nld.global.f32 %%f1, [%%rd1];\nret;\n}\n' >> "$output";;
  *) cp "$input" "$output"
     echo "ptxas info    : Compiling entry function 'k' for 'sm_90'"
     echo "ptxas info    : Function properties for k"
     echo "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads"
     echo "ptxas info    : Used 29 registers, used 0 barriers, 512 bytes smem";;
esac
