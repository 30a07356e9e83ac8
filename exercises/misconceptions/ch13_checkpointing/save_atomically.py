"""Wrong answers to `save_atomically`, each with words of the hint that it must earn."""

from exercises.grading.wrong import edit, shipped

NEW = 'disk.write("manifest.new", manifest)'
SYNC = 'disk.sync("manifest.new")'
RENAME = 'disk.rename("manifest.new", "manifest")'
DONE = f"{RENAME}\ndisk.sync_folder()"
SHARDS = """
for name, text in shards.items():
    disk.write(name, text)
    disk.sync(name)
"""
REMOVE = """
for name in old:
    disk.remove(name)
"""
TORN = "Write it beside the old one, synchronize it, and only then give it the name"
TOO_EARLY = "The old shards were removed while the old manifest may still be"

WRONG = [
    shipped(TOO_EARLY),
    edit("in_place", TORN, NEW, 'disk.write("manifest", manifest)', SYNC, 'disk.sync("manifest")', RENAME, "pass"),
    edit("manifest_unsynced", TORN, SYNC, "pass"),
    edit(
        "renamed_first",
        TORN,
        f"{SYNC}\ndisk.sync_folder()\n{RENAME}",
        f'disk.sync_folder()\n{RENAME}\ndisk.sync("manifest")',
    ),
    edit(
        "shards_unsynced",
        "while a shard's text is not",
        "disk.write(name, text)\ndisk.sync(name)",
        "disk.write(name, text)",
    ),
    edit("names_unsafe", "What makes names safe?", f"disk.sync_folder()\n{RENAME}", RENAME),
    edit("rename_unsafe", TOO_EARLY, DONE, RENAME),
    edit("never_safe", "is wrong", DONE, RENAME, REMOVE, ""),
    edit(
        "manifest_first",
        "The new manifest is there before all shards are",
        SHARDS,
        "",
        DONE,
        f"{DONE}\n{SHARDS.strip()}",
    ),
    edit("keeps_all", "the old shards only take room", REMOVE, ""),
    edit(
        "marker",
        "Nothing but the new shards and the manifest stays",
        REMOVE,
        f'{REMOVE.rstrip()}\ndisk.write("done", "")',
    ),
    edit("cautious", "Each waits for the disk", "disk.sync(name)", "disk.sync(name)\ndisk.sync_folder()"),
    edit(
        "not_named",
        "from when its manifest is there",
        DONE,
        'disk.remove("manifest.new")',
        REMOVE,
        "",
    ),
    edit("renamed_twice", "There is no file of this name now", REMOVE, f"{RENAME}\n{REMOVE.strip()}"),
    edit("bytes", "takes two texts", "disk.write(name, text)", "disk.write(name, text.encode())"),
]
