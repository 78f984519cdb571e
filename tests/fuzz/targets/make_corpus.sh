#!/bin/sh
# Seeds for the targets from what the repository holds, and from folders with small HLO texts where they are given:
#
#   make_corpus.sh FOLDER [SMELT [TEXTS...]]
set -eu
folder=$1
smelt=${2:-build/release/smelt}
[ $# -gt 2 ] && shift 2 || set --
root=$(cd "$(dirname "$0")/../../.." && pwd)
mkdir -p "$folder/hlo_text" "$folder/hlo_proto" "$folder/fusion_config" "$folder/golden_file" "$folder/corpus_shard"
for file in "$root"/models/*.hlo; do
  head -c 20000 "$file" > "$folder/hlo_text/$(basename "$file")"
done
for file in dqn attention; do
  "$smelt" opt "$root/models/$file.hlo" -o "$folder/hlo_proto/$file.pb"
  "$smelt" opt "$root/models/$file.hlo" -o "$folder/text.pbtxt"
  { echo '#'; cat "$folder/text.pbtxt"; } > "$folder/hlo_proto/$file.pbtxt"
done
for texts in "$@"; do
  for file in $(find "$texts" -name '*.hlo' -size -4k); do
    cp "$file" "$folder/hlo_text/"
    "$smelt" opt --no-verify "$file" -o "$folder/hlo_proto/$(basename "$file").pb" 2> /dev/null || true
  done
done
for file in "$root"/models/golden/*.safetensors; do
  [ "$(wc -c < "$file")" -lt 100000 ] && cp "$file" "$folder/golden_file/"
done
cat > "$folder/seed.hlo" <<'END'
HloModule seed
ENTRY e {
  x = f32[4,8] parameter(0)
  a = f32[4,8] exponential(x)
  b = f32[4,8] tanh(a)
  ROOT c = f32[4,8] add(a, b)
}
END
"$smelt" tune "$folder/seed.hlo" --out="$folder/run" --hardware-seconds=1 --quiet > /dev/null
cp "$folder/run/best.fusion.json" "$folder/fusion_config/seed.fusion.json"
"$smelt" profile "$folder/seed.hlo" --task=fusion -o "$folder/profile" --configs=2 > /dev/null
for shard in "$folder"/profile/shard-*.tfrecord; do
  cp "$shard" "$folder/corpus_shard/"
  # The first record without its frame: a length of eight bytes, its checksum, the data, its checksum.
  length=$(od -An -tu8 -N8 "$shard" | tr -d ' ')
  tail -c +13 "$shard" | head -c "$length" > "$folder/corpus_shard/record"
done
mkdir -p "$folder/vdla_program"
cp "$root/models/products.vdla" "$folder/vdla_program/"
"$smelt" sim "$root/models/products.vdla" --out="$folder/vdla_program/binary.vdla" > /dev/null
rm -r "$folder/run" "$folder/profile" "$folder/text.pbtxt"
