"""An HTTP/1.1 server whose path says how it answers. Prints its port, and then "CONNECTION METHOD PATH" for each request.
Arguments: for TLS, the certificate and the key."""

import http.server
import itertools
import json
import ssl
import sys
import threading
import urllib.parse

numbers = itertools.count(1)
lock = threading.Lock()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def setup(self):
        super().setup()
        with lock:
            self.number = next(numbers)
        self.requests = 0

    def handle_one_request(self):
        super().handle_one_request()
        self.requests += 1

    def do_GET(self):
        length = int(self.headers.get("Content-Length", 0))
        body = self.rfile.read(length).decode()
        with lock:
            print(self.number, self.command, self.path, flush=True)
        getattr(self, "answer_" + self.path.split("?")[0][1:].replace("/", "_"))(body)

    do_POST = do_GET

    def send(self, status, fields, body):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        for name, value in fields:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def answer_echo(self, body):
        fields = {name.lower(): value for name, value in self.headers.items()}
        answer = {"method": self.command, "path": self.path, "fields": fields, "body": body}
        self.send(200, [], json.dumps(answer).encode())

    def answer_chunked(self, body):
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for part in [b"one ", b"two ", b"x" * 3000]:
            self.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
        self.wfile.write(b"0\r\n\r\n")

    def answer_busy(self, body):
        self.send(429, [("Retry-After", "7"), ("Cache-Control", "no-store")], b"later")

    def answer_moved(self, body):
        self.send(302, [("Location", "/echo")], b"")

    def answer_long(self, body):
        self.send(200, [], b"x" * 100_001)

    def answer_old(self, body):
        self.wfile.write(b"HTTP/1.0 200 OK\r\n\r\nuntil the end")
        self.close_connection = True

    def answer_last(self, body):
        self.send(200, [("Connection", "close")], b"last")

    def answer_brief(self, body):
        self.send(200, [("Keep-Alive", "timeout=1")], b"brief")

    def answer_kept(self, body):
        """Announces the query as the time for which the connection is kept."""
        number = urllib.parse.unquote(self.path.partition("?")[2])
        self.send(200, [("Keep-Alive", "timeout=" + number)], b"kept")

    def answer_more(self, body):
        first = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nmore"
        self.wfile.write(first + b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged")

    def answer_once(self, body):
        """Answers the first request of a connection, and closes at the next one."""
        if self.requests:
            self.close_connection = True
        else:
            self.send(200, [], b"once")

    def answer_half(self, body):
        self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf")
        self.close_connection = True

    def answer_garbage(self, body):
        self.wfile.write(b"\x16\x03\x01 no HTTP at all\r\n\r\n")
        self.close_connection = True

    def answer_slow(self, body):
        self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhal")
        self.rfile.read(1)

    def answer_silent(self, body):
        self.rfile.read(1)

    def log_message(self, *words):
        pass


http.server.ThreadingHTTPServer.request_queue_size = 64
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.daemon_threads = True
if len(sys.argv) > 1:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[1], sys.argv[2])
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
print(server.server_port, flush=True)
server.serve_forever()
