"""Phones that place calls and record what the server tells them, shared by the drills kill and realm.

Each caller calls a user with an online device, a sleeping one, or both. The plan of a call says who answers, declines
or hangs up. `Books` has what the clients know; it notes each contradiction between two clients, or between a client and
the store.
"""

import asyncio
import collections
import http.client as http_client
import json
import random
import signal
import subprocess
import time
import urllib.error
import urllib.request
import uuid

import websockets
from common import REVEILLE, FOLDER, expect, wait_for

RANKS = {"routing": 0, "waking": 1, "ringing": 2, "answered": 3, "connected": 4, "ended": 5}
ENDED = RANKS["ended"]
# End reasons of one device, after which the call may continue.
ELSEWHERE = {"answered_elsewhere", "declined_elsewhere"}
# End reasons that no client requests: a timer, a lost session or a callee without a session causes them.
UNASKED = {"ring_timeout", "connect_timeout", "connection_lost", "no_devices"}
REPORTED = {"reported", "reported_late", "acted"}
PLANS = ["caller_ends"] * 3 + ["callee_ends"] * 3 + ["decline", "decline", "cancel", "cancel", "ring_out"]
# The plan of a call in which the drill itself acts.
LED = "led"
TOPIC = "org.reveille.phone.voip"
# The headers with the simulator's id of a push.
PUSH_IDS = {"apns-id", "fcm-message-id", "webpush-id"}
# Of a server that phones call and reconnect to as fast as they can.
SETTINGS = {
    "calls.connect_seconds": 5, "calls.report_seconds": 8, "calls.delivery_seconds": 1, "sessions.resume_seconds": 8,
    "limits.pushes_per_device": 1000000, "limits.pushing_calls_per_pair": 1000000,
    "limits.pushing_calls_per_caller": 1000000, "limits.pushes_per_caller": 1000000,
    "limits.stored_bytes_per_user": 1 << 36, "limits.call_bytes_per_user": 1 << 36, "limits.unreported_pushes": 1000,
    "limits.opens_per_device": 1000000, "limits.opens_per_user": 1000000}


class Lost(Exception):
    """The connection ended before the reply."""


class Refused(Exception):
    def __init__(self, error):
        super().__init__(json.dumps(error))
        self.code, self.data = error["data"]["code"], error["data"]


def user(name):
    return name.split("/")[0]


class Entry:
    """What the clients know about one call."""

    def __init__(self, call, caller, callees, plan=None):
        self.call, self.caller, self.callees = call, caller, callees
        self.plan = plan or random.choice(PLANS)
        self.history, self.floor, self.invited, self.end, self.winner = [], -1, False, None, None
        # asked: the devices that requested each end reason. times: when each state began, as told to the caller.
        self.asked, self.times, self.pushed, self.answering = collections.defaultdict(set), {}, {}, set()

    @property
    def offer(self):
        return f"offer {self.call}"

    def note(self, who, text):
        self.history.append((time.time(), who, text))


class Books:
    """What the clients know.

    patience: the longest time in seconds without a session, or between two steps of a call.
    reply_seconds: after this time without a reply a phone reconnects. None: a phone waits for as long as its
    connection lasts, and sends no pings.
    """

    def __init__(self, patience=40, reply_seconds=None):
        self.entries, self.wrong, self.numbers, self.touched = {}, [], collections.Counter(), set()
        self.tasks, self.failures = set(), []
        self.patience, self.reply_seconds = patience, reply_seconds
        # Ids of calls that the drill places itself.
        self.others = set()

    def expect(self, condition, entry, words):
        if condition:
            return
        entry.note("books", f"WRONG: {words}")
        self.wrong.append((entry, words))

    def told(self, entry, state, reason, by, phone):
        """Records the state of a call that a client was told. All clients must see at least that state from now on."""
        self.touched.add(entry.call)
        if state == "ended" and (reason in ELSEWHERE or reason is None):
            return
        if state == "ended":
            end = (reason, by and by.get("user"), by and by.get("device_id"))
            if entry.end is None:
                entry.end = end
                asked = entry.asked[reason]
                self.expect(
                    reason in UNASKED or asked, entry, f"{phone.name} is told {reason}, for which nobody has asked")
            known = entry.end[:1] if by is None else entry.end
            self.expect(known == end[:len(known)] or entry.end[1] is None, entry,
                        f"{phone.name} is told {end}, another client {entry.end}")
            if by is not None:
                entry.end = end
        if phone.name == entry.caller or state in ("answered", "connected", "ended"):
            entry.floor = max(entry.floor, RANKS[state])

    def spawn(self, work):
        """Runs `work` concurrently. `check` raises its failure."""

        def ended(task):
            self.tasks.discard(task)
            if not task.cancelled() and task.exception():
                self.failures.append(task.exception())

        task = asyncio.create_task(work)
        self.tasks.add(task)
        task.add_done_callback(ended)

    def check(self):
        if self.wrong and not self.failures:
            self.show()
        if self.failures:
            raise self.failures[0]

    def show(self):
        for entry, words in self.wrong[:5]:
            print(f"wrong: call {entry.call}: {words}\n  plan {entry.plan}, from {entry.caller} to {entry.callees}")
            for at, who, text in sorted(entry.history, key=lambda line: line[0]):
                print(f"  {time.strftime('%H:%M:%S', time.localtime(at))}.{int(at * 1000) % 1000:03} {who:12} {text}")
        expect(not self.wrong, f"{len(self.wrong)} violations")


class Phone:
    """One device. It reconnects until `rest`, and records every frame that it reads."""

    def __init__(self, books, server, name, token, push=None):
        self.books, self.server, self.name, self.token, self.push = books, server, name, token, push
        self.device = str(uuid.uuid4())
        self.resume = self.socket = self.task = None
        self.seq = self.number = self.session = 0
        self.is_resumed, self.is_open = False, asyncio.Event()
        # By call: the highest state seen, and the highest in an event.
        self.seen, self.events, self.ended_in = {}, {}, set()
        self.pending, self.changed, self.active = {}, asyncio.Condition(), {}
        # Calls that this phone is acting in.
        self.acting, self.resting = set(), asyncio.Lock()

    # The session

    def wake(self, token=None):
        if self.task is None:
            self.task = asyncio.create_task(self.run(token or self.token))

    async def rest(self):
        """Closes the session once nothing is left to do in it."""
        async with self.resting:
            while self.acting:
                await asyncio.sleep(0.01)
            if self.task is None:
                return
            await self.insist("session.close")
            self.task.cancel()
            await asyncio.gather(self.task, return_exceptions=True)
            self.task, self.resume = None, None
            self.is_open.clear()

    async def run(self, token):
        while True:
            try:
                async with websockets.connect(
                    self.server.url + "/v1/signal", subprotocols=["reveille.v1"], compression=None,
                    ping_interval=self.books.reply_seconds, ping_timeout=self.books.reply_seconds, open_timeout=5,
                    close_timeout=0.2,
                ) as self.socket:
                    await self.open(token)
                    while True:
                        await self.take(json.loads(await self.socket.recv()))
            except (OSError, asyncio.TimeoutError, websockets.WebSocketException, EOFError, Lost):
                pass
            except Refused as refused:
                # A wake token ends 60 s after the ring deadline, which an outage may outlast.
                if refused.code == "unauthenticated":
                    token = self.token
            finally:
                if self.is_open.is_set():
                    self.books.numbers[f"connections closed with {self.socket.close_code}"] += 1
                self.is_open.clear()
                self.fail()
            await asyncio.sleep(random.uniform(0.02, 0.1))

    def fail(self):
        for answer, *_ in self.pending.values():
            if not answer.done():
                answer.set_exception(Lost())
        self.pending.clear()

    def cut(self):
        if self.socket is not None and self.is_open.is_set():
            self.socket.transport.abort()

    async def open(self, token):
        params = {"token": token, "device": {"id": self.device, "platform": "ios" if self.push else "desktop"}}
        if self.push and not token.startswith("wake"):
            params["push"] = [{"provider": "apns", "kind": "voip", "environment": "production", "topic": TOPIC,
                               "token": self.push}]
        if self.resume:
            params["resume"] = {**self.resume, "last_seq": self.seq}
        floors = {call: entry.floor for call, entry in self.books.entries.items() if call in self.seen}
        await self.socket.send(json.dumps({"jsonrpc": "2.0", "id": 0, "method": "session.open", "params": params}))
        while (message := json.loads(await self.socket.recv())).get("id") != 0:
            pass
        if "error" in message:
            refused = Refused(message["error"])
            self.books.numbers[f"opens refused: {refused.code}"] += 1
            raise refused
        result = message["result"]
        self.is_resumed = result["resumed"]
        self.books.numbers["resumed sessions" if self.is_resumed else "new sessions"] += 1
        if not self.is_resumed:
            self.seq, self.session, self.ended_in = 0, self.session + 1, set()
        self.resume = {"session_id": result["session_id"], "token": result["resume"]["token"]}
        self.is_open.set()
        listed = {view["call_id"] for view in result["calls"]}
        for view in result["calls"]:
            await self.view(view, floors.get(view["call_id"], -1), "session.open")
        for call, rank in list(self.seen.items()):
            if rank < ENDED and call not in listed and not token.startswith("wake"):
                self.books.spawn(self.ask_missing(call))

    async def ask_missing(self, call):
        """A call that is not in `calls` is over for this device."""
        session = self.session
        try:
            view = await self.ask("call.get", call_id=call)
        except (Lost, Refused) as error:
            entry = self.books.entries[call]
            self.books.expect(
                isinstance(error, Lost) or not entry.invited or error.code == "overloaded", entry,
                f"{self.name} may not see it: {error}")
            return
        if session == self.session and not self.is_resumed:
            self.books.expect(view["state"] == "ended" or self.is_late(call), self.books.entries[call],
                              f"{self.name} gets a new session without the call, which is {view['state']}")

    def is_late(self, call):
        """Whether the call came to this phone after its session began."""
        return self.active.get(call, self.session) == self.session

    # Frames

    async def take(self, message):
        if "method" not in message:
            return await self.reply(message)
        method, params = message["method"], message["params"]
        if "seq" not in params:
            return
        self.books.numbers["events"] += 1
        entry = self.books.entries.get(params.get("call_id"))
        expect(entry is not None, f"{self.name} gets an event of a call that nobody placed: {message}")
        self.books.expect(params["seq"] == self.seq + 1, entry,
                          f"{self.name} gets event {params['seq']} after {self.seq}: {method}")
        self.seq = params["seq"]
        if random.random() < 0.7:
            await self.socket.send(json.dumps(
                {"jsonrpc": "2.0", "method": "session.ack", "params": {"seq": self.seq}}))
        await self.event(entry, method, params)

    async def reply(self, message):
        """Records the reply here, in the order of the frames; the request's task runs later."""
        answer, method, entry, floor = self.pending.pop(message["id"])
        if entry and "error" in message:
            entry.note(self.name, f"← {self.session} {method}: {message['error']['data']}")
        elif entry and "state" in message["result"]:
            await self.view({"call_id": entry.call, **message["result"]}, floor, method)
        if not answer.done():
            answer.set_result(message)

    async def event(self, entry, method, params):
        call, seen = entry.call, self.seen.get(entry.call, -1)
        state = {"call.incoming": "routing", "call.ended": "ended"}.get(method) or params.get("state")
        if method not in ("call.incoming", "call.state", "call.ended"):
            return
        entry.note(self.name, f"← {self.session}/{params['seq']} {method} {state} {params.get('reason', '')}")
        rank = RANKS[state]
        if method == "call.incoming" or state == "answered":
            self.has_description(entry, params, "incoming" if method == "call.incoming" else state, method)
        if method == "call.incoming":
            self.books.expect(seen < ENDED or self.is_resumed, entry, f"{self.name} is offered it after its end")
        else:
            before = self.events.get(call, -1)
            self.books.expect(rank >= before, entry, f"{self.name} gets the event {state} after one of rank {before}")
            self.books.expect(rank >= seen or self.is_resumed, entry,
                              f"{self.name} gets the event {state} after having seen rank {seen}")
            self.events[call] = rank
            self.books.told(entry, state, params.get("reason"), params.get("by"), self)
        if method == "call.ended":
            self.books.expect(call not in self.ended_in, entry, f"{self.name} is told the end twice in one session")
            self.ended_in.add(call)
        if self.name == entry.caller and state in ("answered", "connected", "ended"):
            at = entry.times.setdefault(state, params["at"])
            self.books.expect(at == params["at"], entry, f"{state} at {params['at']}, before {at}")
        await self.saw(entry, rank)

    def has_description(self, entry, params, state, source):
        """Checks that the peer's SDP is kept until media flows, over any number of kills."""
        sdp = params.get("sdp")
        if self.name != entry.caller:
            self.books.expect(sdp == entry.offer, entry, f"{self.name}: {source} has the offer {sdp!r}")
        elif state == "answered":
            fits = sdp in [f"answer {device}" for device in entry.answering]
            self.books.expect(fits, entry, f"{self.name}: {source} has the answer {sdp!r}")

    async def view(self, view, floor, source):
        """Checks a state in a reply. When its request was sent, all clients had to see at least `floor`."""
        entry = self.books.entries.get(view["call_id"])
        expect(entry is not None, f"{self.name} has a call that nobody placed: {view}")
        state, reason = view["state"], view.get("reason")
        entry.note(self.name, f"← {self.session} {source}: {state} {reason or ''}")
        rank = RANKS[state]
        if source in ("session.open", "call.get") and rank <= RANKS["answered"]:
            self.has_description(entry, view, state, source)
        self.books.numbers["states in replies"] += 1
        self.books.expect(rank >= self.seen.get(entry.call, -1), entry,
                          f"{self.name} sees {state} after rank {self.seen.get(entry.call)}")
        self.books.expect(rank >= floor, entry, f"{self.name} sees {state}, after a client was told rank {floor}")
        self.books.told(entry, state, reason, view.get("by") if state == "ended" else None, self)
        await self.saw(entry, rank)

    async def saw(self, entry, rank):
        async with self.changed:
            self.seen[entry.call] = max(self.seen.get(entry.call, -1), rank)
            self.changed.notify_all()
        is_new = self.name in entry.callees and rank < RANKS["answered"] and entry.call not in self.active
        if is_new and entry.plan != LED:
            self.active[entry.call] = self.session
            self.books.spawn(act_as_callee(self, entry))
        elif entry.call not in self.active:
            self.active[entry.call] = self.session

    async def until(self, entry, rank, seconds):
        """Waits until this phone has seen the state. Returns the highest that it has seen."""
        async with self.changed:
            try:
                await asyncio.wait_for(
                    self.changed.wait_for(lambda: self.seen.get(entry.call, -1) >= rank), seconds)
            except asyncio.TimeoutError:
                pass
        return self.seen.get(entry.call, -1)

    # Requests

    async def ask(self, method, **params):
        """Raises Lost and Refused."""
        entry = self.books.entries.get(params.get("call_id"))
        try:
            await asyncio.wait_for(self.is_open.wait(), 1.5 * self.books.patience)
        except asyncio.TimeoutError:
            words = f"{self.name} has had no session for {1.5 * self.books.patience} s"
            expect(entry is not None, words)
            self.books.expect(False, entry, f"{words}: {method}")
            raise
        number = self.number = self.number + 1
        answer = asyncio.get_running_loop().create_future()
        # Marks its exception as retrieved, also when sending fails first.
        answer.add_done_callback(lambda done: done.cancelled() or done.exception())
        self.pending[number] = answer, method, entry, entry.floor if entry else -1
        if entry:
            entry.note(self.name, f"→ {self.session} {method}")
        try:
            await self.socket.send(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}))
        except websockets.ConnectionClosed:
            raise Lost() from None
        # The reader sets the result, or an exception when the connection ends.
        done, _ = await asyncio.wait([answer], timeout=self.books.reply_seconds)
        if not done:
            self.books.numbers["requests without a reply in time"] += 1
            self.cut()
            raise Lost()
        message = answer.result()
        if "error" in message:
            raise Refused(message["error"])
        self.books.numbers["acknowledged requests"] += 1
        return message["result"]

    async def insist(self, method, **params):
        """Repeats the request until it has a reply. Raises Refused."""
        while True:
            try:
                return await self.ask(method, **params)
            except Lost:
                self.books.numbers["requests without a reply"] += 1
                await asyncio.sleep(0.01)
            except Refused as refused:
                if refused.code not in ("overloaded", "rate_limited", "unauthenticated"):
                    entry = self.books.entries.get(params.get("call_id"))
                    self.books.expect(refused.code != "forbidden" or entry is None, entry,
                                      f"{self.name}: {method} is forbidden")
                    raise
                await asyncio.sleep(refused.data.get("retry_after_ms", 50) / 1000)


async def act_as_caller(phone, entry):
    try:
        await phone.insist("call.invite", call_id=entry.call, to=user(entry.callees[0]), sdp=entry.offer, ring_ms=6000)
    except Refused as refused:
        phone.books.expect(False, entry, f"the invite is refused: {refused}")
        return
    entry.invited = True
    phone.books.numbers["acknowledged invites"] += 1
    if entry.plan == "cancel":
        await phone.until(entry, random.choice([1, 2, 3]), random.random() / 2)
        await end(phone, entry, "call.hangup")
    elif await phone.until(entry, RANKS["answered"], phone.books.patience) < ENDED:
        await connect(phone, entry)
        await phone.until(entry, ENDED, 1 if entry.plan == "caller_ends" else phone.books.patience)
        if entry.plan == "caller_ends":
            await end(phone, entry, "call.hangup")
    seen = await phone.until(entry, ENDED, phone.books.patience)
    phone.books.expect(seen == ENDED, entry, f"the caller never sees its end, only rank {seen}")


async def connect(phone, entry):
    try:
        await phone.insist("call.connected", call_id=entry.call)
    except Refused as refused:
        phone.books.expect(
            refused.code in ("bad_state", "call_ended") and phone.seen[entry.call] < RANKS["connected"], entry,
            f"{phone.name} may not connect: {refused}")


async def end(phone, entry, method, request=None):
    """Hangs up or declines. The reason depends on the state that the server finds."""
    for reason in ("hangup", "cancelled", "declined") if method == "call.hangup" else ("declined",):
        entry.asked[reason].add(phone.device)
    try:
        result = await (request(method[5:]) if request else phone.insist(method, call_id=entry.call))
    except Refused as refused:
        phone.books.expect(method == "call.decline" and refused.code == "bad_state" and entry.floor >= 3, entry,
                           f"{phone.name}: {method} is refused: {refused}")
        return
    phone.books.expect(result["state"] == "ended", entry, f"{phone.name}: after {method} it is {result}")
    phone.books.numbers[f"acknowledged {method[5:]}s"] += 1


async def act_as_callee(phone, entry):
    phone.acting.add(entry.call)
    try:
        await ring_and_choose(phone, entry)
    finally:
        phone.acting.discard(entry.call)


async def ring_and_choose(phone, entry):
    """Rings, then does what the plan says. All devices of the callee answer at about the same time."""
    if random.random() < 0.8:
        await phone.insist("call.ringing", call_id=entry.call)
    await asyncio.sleep(random.random() / 4)
    if entry.plan == "decline":
        await end(phone, entry, "call.decline")
    elif entry.plan.endswith("_ends"):
        if await answer(phone, entry):
            await talk(phone, entry)


async def talk(phone, entry):
    await connect(phone, entry)
    if entry.plan == "callee_ends":
        await phone.until(entry, ENDED, random.random())
        await end(phone, entry, "call.hangup")


async def answer(phone, entry, request=None):
    """Returns whether this device won the call."""
    sdp = f"answer {phone.device}"
    entry.answering.add(phone.device)
    try:
        result = await (request("answer", sdp=sdp) if request else phone.insist(
            "call.answer", call_id=entry.call, sdp=sdp))
    except Refused as refused:
        winner = refused.data.get("by", {}).get("device_id")
        phone.books.expect(refused.code in ("call_ended", "already_answered"), entry, f"answer refused: {refused}")
        phone.books.expect(winner is None or winner != phone.device, entry, f"{phone.name} lost to itself: {refused}")
        phone.books.expect(
            entry.winner is None or winner in (None, entry.winner), entry, f"{entry.winner} won, and now {winner}")
        return False
    phone.books.expect(result == {"won": True}, entry, f"answer: {result}")
    phone.books.expect(entry.winner in (None, phone.device), entry, f"{phone.name} wins after {entry.winner}")
    entry.winner = phone.device
    entry.floor = max(entry.floor, RANKS["answered"])
    entry.note(phone.name, "← won")
    phone.books.numbers["acknowledged answers"] += 1
    return True


async def act_over_http(phone, entry, push, token):
    """A woken phone without a session reports and declines, or answers and then opens a session."""
    path = f"/v1/calls/{entry.call}/"

    async def insist(action, **body):
        return await http(phone, entry, token, "POST", path + action, body)

    phone.active[entry.call] = phone.session
    try:
        body = {"call_id": entry.call, "result": "reported"}
        await http(phone, entry, token, "POST", f"/v1/pushes/{push}/report", body)
        phone.books.numbers["acknowledged push reports"] += 1
        await insist("ringing")
        if entry.plan == "decline":
            await end(phone, entry, "call.decline", insist)
        elif entry.plan.endswith("_ends") and await answer(phone, entry, insist):
            phone.wake()
            await talk(phone, entry)
    finally:
        phone.acting.discard(push)


async def http(phone, entry, token, method, path, body=None):
    """Repeats the request until it has a reply. Raises Refused."""
    while True:
        floor = entry.floor
        entry.note(phone.name, f"→ {path}")
        try:
            result = await asyncio.to_thread(fetch, phone.server.http + path, token, method, body)
        except urllib.error.HTTPError as error:
            # Also what a balancer says that has lost the server.
            if error.code < 500:
                raise Refused(json.load(error)) from None
        except (OSError, http_client.HTTPException):
            phone.books.numbers["requests without a reply"] += 1
        else:
            phone.books.numbers["acknowledged requests over HTTP"] += 1
            if "state" in result:
                await phone.view({"call_id": entry.call, **result}, floor, path)
            return result
        await asyncio.sleep(0.05)


def fetch(url, token, method, body=None):
    request = urllib.request.Request(
        url, method=method, data=None if body is None else json.dumps(body).encode(),
        headers={"Authorization": f"Bearer {token}", "Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=10) as response:
        return json.load(response)


class Simulator:
    """The push simulator, and the phones attached to it by curl."""

    def __init__(self, data):
        self.data = data
        self.log = open(FOLDER / "push-sim.log", "wb")
        self.process = subprocess.Popen(
            [REVEILLE, "push-sim", "--data", str(data), "--port", "0", "--sandbox-port", "0", "--fcm-port", "0",
             "--rtt-ms", "40"],
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
        manifest = data / "push-sim" / "push-sim.json"
        wait_for(lambda: manifest.exists() and manifest.read_text().strip().endswith("}"), "the simulator starts")
        self.authority = str(data / "push-sim" / "ca.pem")
        endpoints = {each["environment"]: each for each in json.loads(manifest.read_text())["endpoints"]}
        port = endpoints["production"]["port"]
        self.api = f"https://localhost:{port}/simulator/v1"
        self.phones, self.curls = f"{self.api}/phones", []

    def curl(self, *arguments):
        return ["curl", "-sSN", "--http2", "--cacert", self.authority, *arguments]

    def register(self, name):
        body = json.dumps({"topic": TOPIC, "name": name})
        done = subprocess.run(self.curl(self.phones, "-d", body), capture_output=True, text=True, check=True)
        return json.loads(done.stdout)["token"]

    async def attach(self, phone, on_push):
        # A browser's token is its subscription, whose path ends with the id.
        path = f"{self.phones}/{phone.push.partition('#')[0].rpartition('/')[2]}"
        process = await asyncio.create_subprocess_exec(
            *self.curl(path), stdout=asyncio.subprocess.PIPE, limit=1 << 20)
        self.curls.append(process)
        async for line in process.stdout:
            parcel = json.loads(line)
            if "headers" in parcel:
                push = next(text for name, text in parcel["headers"].items() if name in PUSH_IDS)
                await on_push(phone, push, parcel["push"])
                report = await asyncio.create_subprocess_exec(
                    *self.curl(f"{path}/reported", "-d", json.dumps({"push_id": push})),
                    stdout=asyncio.subprocess.DEVNULL)
                await report.wait()

    async def detach(self, attachments):
        for task in attachments:
            task.cancel()
        for process in self.curls:
            process.kill()
            await process.wait()

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()


async def on_push(phone, push, payload):
    books, entry = phone.books, phone.books.entries.get(payload["uuid"])
    expect(entry is not None, f"{phone.name} is pushed for a call that nobody placed: {payload}")
    books.numbers["pushes delivered"] += 1
    entry.note(phone.name, f"← push {push}")
    books.expect(push == payload["push_id"], entry, f"the push {push} carries the id {payload['push_id']}")
    earlier = entry.pushed.setdefault(phone.name, [])
    books.expect(not earlier, entry, f"{phone.name} gets the push {push} after {earlier}")
    books.expect(phone.name in entry.callees, entry, f"{phone.name} is pushed, a callee is {entry.callees}")
    earlier.append(push)
    books.touched.add(entry.call)
    # Before anything else runs, which could close the session.
    phone.acting.add(push)
    if phone.task is None and random.random() < 0.3:
        return books.spawn(act_over_http(phone, entry, push, payload["wake_token"]))
    if phone.task is not None:
        # A session of an earlier push is for that call only.
        phone.acting.discard(push)
        await phone.rest()
        phone.acting.add(push)
    phone.wake(payload["wake_token"] if random.random() < 0.5 else None)
    books.spawn(report(phone, entry, push))


async def report(phone, entry, push):
    try:
        await phone.insist("push.report", push_id=push, call_id=entry.call, result="reported")
        phone.books.numbers["acknowledged push reports"] += 1
    finally:
        phone.acting.discard(push)


async def work(books, server, group, stopping):
    """One caller places one call after the other to a user with an online device, a sleeping one, or both."""
    caller, online, sleeping, both = group
    while not stopping.is_set():
        callees = random.choice([[online], sleeping, both])
        entry = Entry(str(uuid.uuid4()), caller.name, [phone.name for phone in callees])
        books.entries[entry.call] = entry
        await act_as_caller(caller, entry)
        for phone in callees:
            if phone.push:
                if phone.task is not None and entry.call in phone.seen:
                    await phone.until(entry, ENDED, 20)
                await phone.rest()


async def cut_connections(books, phones, stopping):
    while not stopping.is_set():
        await asyncio.sleep(0.1)
        phone = random.choice(phones)
        if phone.is_open.is_set():
            books.numbers["connections cut"] += 1
            phone.cut()


async def traffic(books, server, simulator, faults, workers=16, cuts=False):
    """Places calls while `faults`, which is called with the phones by name, runs. Then waits until all calls and pushes
    have ended. Returns the phones."""
    tokens = {}

    def phone(name, push=False):
        if user(name) not in tokens:
            tokens[user(name)] = server.command("token", user(name), "--ttl", "2h").strip()
        return Phone(books, server, name, tokens[user(name)], simulator.register(name) if push else None)

    groups = [
        (phone(f"caller{n}"), phone(f"online{n}"), [phone(f"asleep{n}", True)],
         [phone(f"both{n}/a"), phone(f"both{n}/b", True)]) for n in range(workers)]
    phones = {p.name: p for group in groups for p in [group[0], group[1], *group[2], *group[3]]}
    for each in phones.values():
        each.wake()
        await asyncio.wait_for(each.is_open.wait(), 20)
    attachments = []
    try:
        for each in phones.values():
            if each.push:
                attachments.append(asyncio.create_task(simulator.attach(each, on_push)))
                await each.rest()
        await place_calls(books, server, groups, faults(phones), attachments, cuts)
    finally:
        await simulator.detach(attachments)
    return phones


async def place_calls(books, server, groups, faults, attachments, cuts):
    stopping = asyncio.Event()
    tasks = [asyncio.create_task(work(books, server, group, stopping)) for group in groups]
    if cuts:
        phones = [each for caller, online, sleeping, both in groups for each in (caller, online, *sleeping, *both)]
        tasks.append(asyncio.create_task(cut_connections(books, phones, stopping)))
    injector = asyncio.create_task(faults)
    # A worker or phone that fails ends the drill.
    done, _ = await asyncio.wait([injector, *tasks, *attachments], return_when=asyncio.FIRST_COMPLETED)
    for task in done:
        task.result()
    await asyncio.sleep(1)
    stopping.set()
    await asyncio.wait_for(asyncio.gather(*tasks), 3 * books.patience)
    await asyncio.to_thread(
        wait_for, lambda: not server.show("pushes", "list", "--open", "--limit", "1000")["pushes"],
        "every push has a final state", 60)
    await asyncio.to_thread(
        wait_for, lambda: not server.show("calls", "list", "--live")["calls"], "every call has ended", 60)


def compare(books, server, phones):
    """Compares the store of the stopped server with the records."""
    calls = server.calls()
    for call, entry in books.entries.items():
        row = calls.get(call)
        books.expect(row or not entry.invited, entry, "it is acknowledged, and not in the store")
        if row is None:
            continue
        entry.note("store", json.dumps(row))
        books.expect(row["state"] == "ended" and row["from"] == entry.caller, entry, "wrong state or caller")
        if entry.end:
            reason, user, device = entry.end
            stored = (row["reason"], row.get("ended_by"), row.get("ended_by_device_id"))
            books.expect(stored[0] == reason, entry, f"stored as {stored}, told as {entry.end}")
            books.expect(
                user is None or stored[1:] == (user, device), entry, f"stored as {stored}, told as {entry.end}")
        asked = entry.asked.get(row["reason"], set())
        books.expect(
            row["reason"] in UNASKED or row.get("ended_by_device_id") in asked, entry, "nobody asked for its end")
        if entry.winner:
            books.expect(row.get("answered_by_device_id") == entry.winner, entry, f"{entry.winner} has won")
        for state, at in entry.times.items():
            books.expect(row[f"{state}_at"]["ms"] == at, entry, f"{state} was told as {at}")
    expect(set(calls) <= set(books.entries) | books.others, "the store has calls that nobody placed")
    pushes = {push["push_id"]: push for push in server.show("pushes", "list", "--limit", "100000")["pushes"]}
    for entry in books.entries.values():
        for name, delivered in entry.pushed.items():
            for push in delivered:
                row = pushes.get(push)
                books.expect(row and (row["call_id"], row["device_id"]) == (entry.call, phones[name].device)
                             and row["status"] == "accepted" and row["report"] in REPORTED, entry,
                             f"the push {push} was reported, and is stored as {row}")
    delivered = {push for entry in books.entries.values() for ids in entry.pushed.values() for push in ids}
    for push in pushes.values():
        books.expect(push["status"] != "accepted" or push["push_id"] in delivered, books.entries[push["call_id"]],
                     f"the push {push['push_id']} was accepted, and no phone has it")
        books.numbers[f"pushes {push['status']} and {push.get('report', 'without a report')}"] += 1
    pairs = collections.Counter((push["call_id"], push["device_id"]) for push in pushes.values())
    expect(max(pairs.values(), default=1) == 1, f"two pushes for {pairs.most_common(1)}")
    audit = server.show("pushes", "audit")
    expect(audit["balanced"], f"the ledger does not balance: {audit}")
    books.numbers["calls in the store"], books.numbers["pushes in the ledger"] = len(calls), len(pushes)
