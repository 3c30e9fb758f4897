"""A client of Reveille for backends and tests: one WebSocket session, calls, events, and the HTTP resources.

Needs Python 3.9 and the package `websockets` (10 or later; Debian: python3-websockets).

    async with Client("ws://127.0.0.1:7350", token="eyJ…") as client:
        call = await client.invite("bob", sdp="v=0…")
        async for event in client.events():
            if event.method == "call.ended":
                break

The protocol is in WireProtocol.md, and as a schema in reveille.asyncapi.json. One client belongs to one event loop.
"""

import asyncio
import json
import random
import urllib.error
import urllib.request
import uuid
from dataclasses import dataclass
from typing import Any, AsyncIterator, Dict, List, Optional

import websockets

SUBPROTOCOL = "reveille.v1"
LONGEST_FRAME = 65_536
# Close codes below 3500 after which a client does not reconnect.
FINAL_CODES = {1000, 1002, 1003, 1007}


class ReveilleError(Exception):
    """A refused request. `code` is the protocol's `data.code`; `data` may have further members."""

    def __init__(self, code: str, message: str, data: Dict[str, Any]):
        super().__init__(f"{code}: {message}")
        self.code, self.message, self.data = code, message, data


class Closed(Exception):
    """The session is over: the close code is final, or the client was closed. `code` is None without a close frame."""

    def __init__(self, code: Optional[int], reason: str):
        super().__init__(f"closed with {code}: {reason}" if code else reason)
        self.code, self.reason = code, reason


@dataclass(frozen=True)
class Event:
    """An event of the server, such as `call.incoming`, `call.state` or `call.ended`."""

    method: str
    params: Dict[str, Any]

    @property
    def call_id(self) -> Optional[str]:
        return self.params.get("call_id")


class Client:
    """One session. After a lost connection it reconnects and resumes, so that no event is lost or repeated.

    `token` is a user's JWT or a push's wake token. `device_id` identifies the installation: keep it. `push` is a list of
    push tokens to register; None keeps the device's tokens.
    """

    def __init__(
        self, url: str, token: str, *, device_id: Optional[str] = None, platform: str = "desktop",
        app: Optional[str] = None, push: Optional[List[Dict[str, str]]] = None, open_timeout: float = 10.0,
    ):
        self.url = url.rstrip("/") + "/v1/signal"
        self.token, self.platform, self.app, self.push = token, platform, app, push
        self.device_id = device_id or str(uuid.uuid4())
        self.open_timeout = open_timeout
        # The results of the last session.open.
        self.user: Optional[str] = None
        self.calls: List[Dict[str, Any]] = []
        self.missed: List[Dict[str, Any]] = []
        self.ice_servers: List[Dict[str, Any]] = []
        self._socket: Any = None
        self._resume: Optional[Dict[str, Any]] = None
        self._last_seq = 0
        self._next_id = 0
        self._pending: Dict[int, asyncio.Future] = {}
        self._events: asyncio.Queue = asyncio.Queue()
        self._task: Optional[asyncio.Task] = None
        self._end: Optional[Closed] = None

    async def __aenter__(self) -> "Client":
        await self.open()
        return self

    async def __aexit__(self, *_: Any) -> None:
        await self.close()

    async def open(self) -> None:
        """Connects and opens the session. Raises ReveilleError, Closed or OSError."""
        await self._connect()
        self._task = asyncio.create_task(self._run())

    async def close(self) -> None:
        """Ends the session; push tokens stay registered."""
        if self._task is None:
            return
        if self._end is None:
            self._end = Closed(None, "the client was closed")
            try:
                await asyncio.wait_for(self.request("session.close"), self.open_timeout)
            except (ReveilleError, Closed, asyncio.TimeoutError):
                pass
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        await self._socket.close()

    async def events(self) -> AsyncIterator[Event]:
        """Every event in order. Ends when the client is closed; raises Closed after a final close code."""
        while True:
            event = await self._events.get()
            if event is None:
                self._events.put_nowait(None)
                if self._end and self._end.code:
                    raise self._end
                return
            yield event

    async def event(self, method: str, call_id: Optional[str] = None, timeout: float = 10.0, **params: Any) -> Event:
        """Returns the next event with this method, call and members, as in event("call.state", call, state="ringing").
        Drops earlier events. Raises asyncio.TimeoutError."""

        async def find() -> Event:
            async for event in self.events():
                if event.method == method and call_id in (None, event.call_id):
                    if all(event.params.get(key) == value for key, value in params.items()):
                        return event
            raise self._end or Closed(None, "no more events")

        return await asyncio.wait_for(find(), timeout)

    async def request(self, method: str, **params: Any) -> Dict[str, Any]:
        """Sends a request without the members that are None. Returns its result. Raises ReveilleError when it is
        refused, and Closed when the connection ends before the reply: it may have taken effect, and is safe to repeat."""
        self._next_id += 1
        number = self._next_id
        answer = asyncio.get_running_loop().create_future()
        self._pending[number] = answer
        try:
            await self._send({"id": number, "method": method, "params": params})
            return await answer
        finally:
            self._pending.pop(number, None)

    async def notify(self, method: str, **params: Any) -> None:
        """Sends a notification, which has no reply."""
        await self._send({"method": method, "params": params})

    # Calls. Each command is safe to repeat with the same call id.

    async def invite(self, to: Any, *, call_id: Optional[str] = None, **options: Any) -> str:
        """Calls a user, a list of users, or {"group": name}. Options: sdp, video, ring_ms, max_duration_ms, custom. Returns the call id."""
        call = call_id or str(uuid.uuid4())
        await self.request("call.invite", call_id=call, to=to, **options)
        return call

    async def ringing(self, call: str) -> Dict[str, Any]:
        return await self.request("call.ringing", call_id=call)

    async def answer(self, call: str, sdp: Any = None) -> Dict[str, Any]:
        return await self.request("call.answer", call_id=call, sdp=sdp)

    async def decline(self, call: str, reason: str = "declined") -> Dict[str, Any]:
        return await self.request("call.decline", call_id=call, reason=reason)

    async def connected(self, call: str) -> Dict[str, Any]:
        return await self.request("call.connected", call_id=call)

    async def hangup(self, call: str, reason: Optional[str] = None) -> Dict[str, Any]:
        return await self.request("call.hangup", call_id=call, reason=reason)

    async def candidates(self, call: str, candidates: List[Any], final: bool = False) -> None:
        await self.notify("call.candidates", call_id=call, candidates=candidates, final=final or None)

    async def update(self, call: str, kind: str, **content: Any) -> Dict[str, Any]:
        return await self.request("call.update", call_id=call, kind=kind, **content)

    # The connection

    async def _send(self, message: Dict[str, Any]) -> None:
        if self._socket is None or self._end and self._end.code:
            raise self._end or Closed(None, "not connected")
        await _send_on(self._socket, message)

    async def _connect(self) -> None:
        # Requests are sent on this connection once its session is open.
        socket = await websockets.connect(
            self.url, subprotocols=[SUBPROTOCOL], max_size=LONGEST_FRAME, open_timeout=self.open_timeout)
        try:
            result = await self._opened(socket)
        except BaseException:
            await socket.close()
            raise
        if not result["resumed"]:
            self._last_seq = 0
        self._resume = {"session_id": result["session_id"], "token": result["resume"]["token"]}
        self.user, self.calls, self.missed = result["user"], result["calls"], result["missed"]
        self.ice_servers = result.get("ice_servers", [])
        self._socket = socket

    async def _opened(self, socket: Any) -> Dict[str, Any]:
        """Opens or resumes the session. Returns the result of session.open."""
        device = {"id": self.device_id, "platform": self.platform}
        if self.app:
            device["app"] = self.app
        params: Dict[str, Any] = {"token": self.token, "device": device, "push": self.push}
        if self._resume:
            params["resume"] = {**self._resume, "last_seq": self._last_seq}
        await _send_on(socket, {"id": 0, "method": "session.open", "params": params})
        while True:
            try:
                message = json.loads(await asyncio.wait_for(socket.recv(), self.open_timeout))
            except websockets.ConnectionClosed as closed:
                raise Closed(closed.code, closed.reason) from closed
            if message.get("id") == 0:
                break
        if "error" in message:
            raise _error(message["error"])
        return message["result"]

    async def _run(self) -> None:
        delay = 0.25
        while True:
            try:
                await self._read()
            except (websockets.ConnectionClosed, Closed) as closed:
                code = closed.code
                self._fail(Closed(code, closed.reason or "the connection is lost"))
                if self._end or not _is_retryable(code):
                    self._end = self._end or Closed(code, closed.reason)
                    self._events.put_nowait(None)
                    return
            while True:
                await asyncio.sleep(random.uniform(delay / 2, delay))
                delay = min(delay * 2, 15.0)
                try:
                    await self._connect()
                    delay = 0.25
                    break
                except (ReveilleError, Closed) as refused:
                    if isinstance(refused, Closed) and _is_retryable(refused.code):
                        continue
                    if getattr(refused, "code", None) in ("overloaded", "draining", "rate_limited"):
                        continue
                    self._end = refused if isinstance(refused, Closed) else Closed(3500, str(refused))
                    self._events.put_nowait(None)
                    return
                except (OSError, asyncio.TimeoutError, websockets.WebSocketException):
                    continue

    async def _read(self) -> None:
        while True:
            message = json.loads(await self._socket.recv())
            if "method" in message:
                params = message.get("params", {})
                self._events.put_nowait(Event(message["method"], params))
                if "seq" in params:
                    self._last_seq = params["seq"]
                    await self.notify("session.ack", seq=self._last_seq)
                continue
            answer = self._pending.get(message.get("id"))
            if answer is None or answer.done():
                continue
            if "error" in message:
                answer.set_exception(_error(message["error"]))
            else:
                answer.set_result(message["result"])

    def _fail(self, closed: Closed) -> None:
        for answer in self._pending.values():
            if not answer.done():
                answer.set_exception(closed)


async def _send_on(socket: Any, message: Dict[str, Any]) -> None:
    message["params"] = {key: value for key, value in message["params"].items() if value is not None}
    try:
        await socket.send(json.dumps({"jsonrpc": "2.0", **message}))
    except websockets.ConnectionClosed as closed:
        raise Closed(closed.code, closed.reason or "the connection is lost") from closed


def _is_retryable(code: Optional[int]) -> bool:
    return code is None or code < 3500 and code not in FINAL_CODES


def _error(error: Dict[str, Any]) -> ReveilleError:
    data = error.get("data") or {}
    return ReveilleError(data.get("code", str(error.get("code"))), error.get("message", ""), data)


# HTTP, for code without a session. The token is a user's JWT or the push's wake token.


async def get_call(url: str, token: str, call: str) -> Dict[str, Any]:
    """The call as this device or user sees it."""
    return await _http(url, token, "GET", f"/v1/calls/{call}")


async def report_push(
    url: str, token: str, push: str, call: str, result: str = "reported", error: Optional[str] = None
) -> Dict[str, Any]:
    """Reports the result of a push on the device: reported, not_required, filtered or failed."""
    body = {"call_id": call, "result": result}
    if error is not None:
        body["error"] = error
    return await _http(url, token, "POST", f"/v1/pushes/{push}/report", body)


async def act(url: str, token: str, call: str, action: str, device_id: Optional[str] = None, **members: Any) -> Dict[str, Any]:
    """Does `ringing`, `answer`, `decline` or `hangup` without a session, with the members of that method.

    `device_id` is for a user's token without a device, when several of the user's devices are in the call.
    """
    query = f"?device={device_id}" if device_id else ""
    return await _http(url, token, "POST", f"/v1/calls/{call}/{action}{query}", members)


async def _http(url: str, token: str, method: str, path: str, body: Any = None) -> Dict[str, Any]:
    base = url.replace("ws://", "http://", 1).replace("wss://", "https://", 1).rstrip("/")
    request = urllib.request.Request(
        base + path, method=method, data=None if body is None else json.dumps(body).encode(),
        headers={"Authorization": f"Bearer {token}", "Content-Type": "application/json"})

    def send() -> Dict[str, Any]:
        try:
            with urllib.request.urlopen(request, timeout=10) as response:
                return json.load(response)
        except urllib.error.HTTPError as refused:
            raise _error(json.load(refused)) from refused

    return await asyncio.get_running_loop().run_in_executor(None, send)
