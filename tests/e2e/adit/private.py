# SPDX-License-Identifier: MIT
"""The tree below a folder that only root can enter, as a clone in /root is.  Programs that a test
or a tool runs as another user still have to find what they read."""
import os
import shutil
import tempfile

from adit.stack import BUILD, ROOT

# In a mount namespace of its own, the tree is there and at its own path.  Build nothing there:
# configure and make note their path.
SCRIPT = """set -eu
mount --bind "$1" "$2"
cd "$2"
export ADIT_BUILD="$3"
shift 3
exec "$@"
"""


class PrivateTree:
    def __init__(self):
        if os.geteuid() != 0:
            raise AssertionError("only root may mount the tree at another path")
        build = os.path.relpath(BUILD, ROOT)
        if build.startswith(".."):
            raise AssertionError("%s is not below %s" % (BUILD, ROOT))
        self._folder = tempfile.mkdtemp(prefix="adit-private-", dir="/tmp")
        self.root = os.path.join(self._folder, "tree")
        self._build = os.path.join(self.root, build)
        os.mkdir(self.root)

    def command(self, *command):
        """The command line that runs a command there, in the tree's folder."""
        return ["unshare", "--mount", "--propagation", "private", "bash", "-c", SCRIPT, "bash",
                ROOT, self.root, self._build, *command]

    def remove(self):
        shutil.rmtree(self._folder)
