# SPDX-License-Identifier: MIT
"""Containerfile, compose.yaml and doc/operate/container.md agree.  tools/container-check builds and
starts what they describe."""
import os
import re
import unittest

import yaml

from adit import recipe, stack


def read(name):
    with open(os.path.join(stack.ROOT, name), encoding="utf-8") as file:
        return file.read()


class Container(unittest.TestCase):
    def setUp(self):
        self.services = yaml.safe_load(read("compose.yaml"))["services"]
        parts = re.split(r"(?m)^FROM \S+ AS (\w+)\n", read("Containerfile"))
        self.targets = dict(zip(parts[1::2], parts[2::2]))

    def test_services(self):
        self.assertEqual(set(self.services), {"database", "migrate", "adit", "web"})
        for name, service in self.services.items():
            with self.subTest(name):
                self.assertEqual((service["read_only"], service["cap_drop"], service["security_opt"]),
                                 (True, ["ALL"], ["no-new-privileges:true"]))
                self.assertEqual(service["image"], "localhost/adit-" + service["build"]["target"])
                self.assertEqual("healthcheck" in service, name != "migrate")
                self.assertNotIn("environment", service)
                self.assertEqual(service.get("network_mode"), None if name == "web" else "none")
                user = service.get("user") or re.findall(
                    r"(?m)^USER (\S+)", self.targets[service["build"]["target"]])[-1]
                self.assertRegex(user, r"^[1-9]\d*:[1-9]\d*$")

    def test_images(self):
        for name in {service["build"]["target"] for service in self.services.values()}:
            with self.subTest(name):
                self.assertIn('CMD ["healthy"]', self.targets[name])
                self.assertIn(name, re.search(
                    r"for target in (.*);", "".join(dict(recipe.chapters("container.md"))["Build"]))
                    .group(1).split())
        copied = re.findall(r"(?m)^COPY (container/\S+)", read("Containerfile"))
        self.assertEqual(sorted(os.path.basename(path) for path in copied),
                         sorted(os.listdir(os.path.join(stack.ROOT, "container"))))

    def test_settings(self):
        """The program accepts them, and then misses the key, which the image does not hold."""
        done = stack.run([os.path.join(stack.BUILD, "adit.fcgi"), "-c",
                          os.path.join(stack.ROOT, "container", "adit.conf")], check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("/run/secrets/adit.key", done.stderr)
