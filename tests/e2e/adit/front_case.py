# SPDX-License-Identifier: MIT
"""Tests that ask several web servers for answers of the service, and of files beside it."""
import http.client
import json

from adit.case import Case


class FrontCase(Case):
    def ask(self, front, path, method="GET", body=None, key=None, **headers):
        """Returns the status, the headers and the body.  A header's name has _ for each -."""
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        if key:
            headers |= {"Authorization": "Bearer " + key, "Service-Version": "2"}
        connection = http.client.HTTPConnection("127.0.0.1", front.port, timeout=60)
        try:
            connection.request(method, front.prefix + path, body, headers)
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()
        finally:
            connection.close()

    def check_error(self, answer, status, number):
        found, headers, body = answer
        self.assertEqual((found, headers.get_all("Content-Type"), headers.get_all("Cache-Control")),
                         (status, ["application/json"], ["no-store"]), body)
        self.assertIsNone(headers["Location"])
        self.assertEqual(json.loads(body)["error_code"], "ERR_SERVICE_%d" % number)
