import CallCore
import CallServer
import CallStore
import CallVocabulary
import PhoneSimulator
import PushSimulator
import PushVocabulary
import SoftphoneKit
import SoftphoneSession
import StoreInterface
import TestCleanup
import Testing

/// `GET /v1/calls/{call_id}` and `POST /v1/pushes/{push_id}/report`, with curl as a phone without a socket.
@Suite("Calls by HTTP", .world)
struct HTTPCallTests {
    @Test(
        "a woken phone reads the call's state with the wake token, and reading changes nothing"
    )
    func getWhileWaking() async throws {
        let wakeUp = try await WakeUp.start()
        let answer = try await HTTPAnswer.curl(wakeUp.server, "/v1/calls/\(wakeUp.call)", token: try wakeUp.wakeToken)
        #expect(answer.status == 200)
        #expect(answer.headers["content-type"] == "application/json")
        #expect(answer.headers["cache-control"] == "no-store")
        let call = try answer.object
        #expect(call["call_id"] as? String == "\(wakeUp.call)")
        #expect(call["role"] as? String == "callee")
        #expect(call["state"] as? String == "waking")
        #expect((call["from"] as? [String: Any])?["handle"] as? String == "alice")
        #expect(call["push_id"] as? String == "\(wakeUp.push.push)")
        let remaining = try #require(call["remaining_ms"] as? Int)
        #expect((1...600_000).contains(remaining))
        #expect(call["expires_at"] as? Int == Int(wakeUp.push.expiresAt.milliseconds))

        // iOS writes UUIDs in upper case.
        let upper = try await HTTPAnswer.curl(
            wakeUp.server, "/v1/calls/\("\(wakeUp.call)".uppercased())", token: try wakeUp.wakeToken)
        #expect(upper.status == 200)
        #expect(try upper.object["call_id"] as? String == "\(wakeUp.call)")

        #expect(try wakeUp.ledger().report == .acted, "the app runs")
        #expect(try wakeUp.callRecord().state == .waking)
        #expect(!wakeUp.alice.events.entries.contains { $0.call(wakeUp.call, in: .ringing) != nil })
    }

    @Test("a report with the wake token is heard by the caller as ringing, closes the push, and counts once")
    func report() async throws {
        let wakeUp = try await WakeUp.start()
        let answer = try await wakeUp.report(token: try wakeUp.wakeToken)
        #expect(answer.status == 200)
        #expect(try answer.object["state"] as? String == "ringing")
        #expect(try await wakeUp.alice.state(.ringing, of: wakeUp.call).ringing == 1)
        let push = try wakeUp.ledger()
        #expect(push.report == .reported)
        #expect(push.status == .accepted)
        #expect(try wakeUp.callRecord().state == .ringing)

        let again = try await wakeUp.report(token: try wakeUp.wakeToken)
        #expect(again.status == 200)
        #expect(again.body == answer.body)
        #expect(try wakeUp.ledger() == push)

        try await wakeUp.alice.softphone.hangup(wakeUp.call)
        let late = try await wakeUp.report(token: try wakeUp.wakeToken)
        #expect(late.status == 200)
        #expect(try late.object["state"] as? String == "ended")
        #expect(try late.object["reason"] as? String == "cancelled")
        #expect(try wakeUp.ledger() == push)
    }

    @Test("a report of a failure is stored with its reason, and the call does not ring")
    func failedReport() async throws {
        let wakeUp = try await WakeUp.start()
        let answer = try await HTTPAnswer.report(
            wakeUp.server, push: wakeUp.push.push, token: try wakeUp.wakeToken,
            body: #"{"call_id":"\#(wakeUp.call)","result":"failed","error":"CXErrorCodeIncomingCall 3"}"#)
        #expect(answer.status == 200)
        #expect(try answer.object["state"] as? String == "waking")
        let push = try wakeUp.ledger()
        #expect(push.report == .reportFailed)
        #expect(push.reportError == "CXErrorCodeIncomingCall 3")
        #expect(try wakeUp.callRecord().state == .waking)
    }

    @Test("both parties' user tokens get the call in their own role, and the callee's also reports the push")
    func userTokens() async throws {
        let wakeUp = try await WakeUp.start()
        for (user, role) in [("alice", "caller"), ("bob", "callee")] {
            let answer = try await HTTPAnswer.curl(
                wakeUp.server, "/v1/calls/\(wakeUp.call)", token: try await world.token(user))
            #expect(answer.status == 200)
            #expect(try answer.object["role"] as? String == role)
            #expect(try answer.object["state"] as? String == "waking")
        }
        let report = try await wakeUp.report(token: try await world.token("bob"))
        #expect(report.status == 200)
        #expect(try wakeUp.ledger().report == .reported)
        _ = try await wakeUp.alice.state(.ringing, of: wakeUp.call)
    }

    @Test("a user without a part in a call gets the same bytes as for an unknown call")
    func forbidden() async throws {
        let wakeUp = try await WakeUp.start()
        let server = wakeUp.server
        let (wake, stranger) = (try wakeUp.wakeToken, try await world.token("mallory"))
        let known = "/v1/calls/\(wakeUp.call)"
        let unknown = "/v1/calls/\(CallID.random())"
        let push = wakeUp.push.push
        let other = #"{"call_id":"\#(CallID.random())","result":"reported"}"#
        let answers = [
            try await HTTPAnswer.curl(server, unknown, token: stranger),
            try await HTTPAnswer.curl(server, unknown, token: wake),
            try await HTTPAnswer.curl(server, unknown, token: try await world.token("bob")),
            try await HTTPAnswer.curl(server, known, token: stranger),
            try await wakeUp.report(token: stranger),
            // The caller has a part in the call, but not in its push.
            try await wakeUp.report(token: try await world.token("alice")),
            try await HTTPAnswer.report(server, push: push, token: wake, body: other),
            try await HTTPAnswer.report(server, push: PushID.random(), token: wake, body: wakeUp.reportBody),
        ]
        for answer in answers {
            #expect(answer.status == 403)
            #expect(answer == answers[0])
        }
        #expect(try answers[0].errorCode == "forbidden")
        #expect(try answers[0].object["code"] as? Int == -32002)
        try wakeUp.expectUntouched()
    }

    @Test("a missing, expired or foreign token gives 401 with the error and a challenge")
    func unauthenticated() async throws {
        let wakeUp = try await WakeUp.start()
        try await World.run { elsewhere in
            let authority = try await TokenAuthority(folder: DataFolder(path: world.folder))
            let expiredWake = try authority.mintWakeToken(for: wakeUp.order(expiresAt: .now + .seconds(-70)))
            let wake = try wakeUp.wakeToken
            let bad = [
                nil, "", "garbage", "a.b.c", String(wake.dropLast(4)), expiredWake,
                try await world.token("bob", lifetime: .seconds(-10)), try await elsewhere.token("bob"),
            ]
            for token in bad {
                for answer in [
                    try await HTTPAnswer.curl(wakeUp.server, "/v1/calls/\(wakeUp.call)", token: token),
                    try await wakeUp.report(token: token),
                ] {
                    #expect(answer.status == 401, "\(token ?? "none")")
                    #expect(try answer.errorCode == "unauthenticated")
                    #expect(try answer.object["code"] as? Int == -32001)
                    let challenge = (token ?? "").isEmpty ? "Bearer" : #"Bearer error="invalid_token""#
                    #expect(answer.headers["www-authenticate"] == challenge)
                }
            }
            let basic = try await HTTPAnswer.curl(wakeUp.server, "/v1/calls/\(wakeUp.call)", "--user", "bob:secret")
            #expect(basic.status == 401)
            let lowerCase = try await HTTPAnswer.curl(
                wakeUp.server, "/v1/calls/\(wakeUp.call)", "--header", "Authorization: bearer  \(wake)")
            #expect(lowerCase.status == 200)
        }
        try wakeUp.expectUntouched(.acted)
    }

    @Test("a wake token is valid until a minute after the ring time, and not for another device's push")
    func wakeTokenScope() async throws {
        let wakeUp = try await WakeUp.start()
        let authority = try await TokenAuthority(folder: DataFolder(path: world.folder))
        let late = try authority.mintWakeToken(for: wakeUp.order(expiresAt: .now + .seconds(-50)))
        #expect(
            try await HTTPAnswer.curl(wakeUp.server, "/v1/calls/\(wakeUp.call)", token: late).status == 200)
        let otherDevice = try authority.mintWakeToken(
            for: wakeUp.order(expiresAt: .now + .seconds(10), device: .random()))
        #expect(try await HTTPAnswer.curl(wakeUp.server, "/v1/calls/\(wakeUp.call)", token: otherDevice).status == 403)
        #expect(try await wakeUp.report(token: otherDevice).status == 403)
        try wakeUp.expectUntouched(.acted)
    }

    @Test("an unreadable request is 400, with the expected input")
    func badRequests() async throws {
        let wakeUp = try await WakeUp.start()
        let (server, wake) = (wakeUp.server, try wakeUp.wakeToken)
        for path in ["/v1/calls/42", "/v1/calls/", "/v1/calls/\(wakeUp.call)x", "/v1/calls/%20"] {
            let answer = try await HTTPAnswer.curl(server, path, token: wake)
            #expect(answer.status == 400, "\(path)")
            #expect(try answer.errorCode == "invalid_params")
            #expect(try (answer.object["message"] as? String)?.contains("UUID") == true)
        }
        let badPush = try await HTTPAnswer.report(server, push: "42", token: wake, body: wakeUp.reportBody)
        #expect(badPush.status == 400)
        #expect(try badPush.errorCode == "invalid_params")
        for (body, code) in [
            ("", "parse_error"), ("{", "parse_error"), ("[]", "invalid_request"), ("{}", "invalid_params"),
            (#"{"call_id":"\#(wakeUp.call)"}"#, "invalid_params"),
            (#"{"call_id":"\#(wakeUp.call)","result":"shown"}"#, "invalid_params"),
            (#"{"call_id":"\#(wakeUp.call)","result":"failed","error":7}"#, "invalid_params"),
        ] {
            let answer = try await HTTPAnswer.report(server, push: wakeUp.push.push, token: wake, body: body)
            #expect(answer.status == 400, "\(body)")
            #expect(try answer.errorCode == code, "\(body)")
        }
        let form = try await HTTPAnswer.curl(
            server, "/v1/pushes/\(wakeUp.push.push)/report", token: wake, "--data", wakeUp.reportBody)
        #expect(form.status == 400)
        #expect(try (form.object["message"] as? String)?.contains("application/json") == true)
        try wakeUp.expectUntouched()
    }

    @Test(
        "an unknown method is 405 with the permitted ones, HEAD is GET without a body, a long body is 413")
    func methods() async throws {
        let wakeUp = try await WakeUp.start()
        let (server, wake) = (wakeUp.server, try wakeUp.wakeToken)
        let (call, push) = ("/v1/calls/\(wakeUp.call)", "/v1/pushes/\(wakeUp.push.push)/report")
        for (path, method, allowed) in [
            (call, "PUT", "GET, HEAD"), (call, "POST", "GET, HEAD"), (call, "DELETE", "GET, HEAD"),
            (push, "GET", "POST"), (push, "PUT", "POST"), (push, "DELETE", "POST"),
        ] {
            let answer = try await HTTPAnswer.curl(
                server, path, token: wake, "--request", method, "--header", "Content-Length: 0")
            #expect(answer.status == 405, "\(method) \(path)")
            #expect(answer.headers["allow"] == allowed)
            #expect(try answer.errorCode == "method_not_found")
        }
        let get = try await HTTPAnswer.curl(server, call, token: wake)
        let head = try await HTTPAnswer.curl(server, call, token: wake, "--head")
        #expect(head.status == 200)
        #expect(head.body == "")
        // remaining_ms may have one digit less.
        #expect(abs((head.headers["content-length"].flatMap { Int($0) } ?? 0) - get.body.utf8.count) <= 1)
        #expect(try await HTTPAnswer.curl(server, push, token: wake, "--head").status == 405)

        let filler = String(repeating: " ", count: 65_536)
        let tooLarge = try await HTTPAnswer.report(
            server, push: wakeUp.push.push, token: wake, body: wakeUp.reportBody + filler)
        #expect(tooLarge.status == 413)
        #expect(try tooLarge.errorCode == "too_large")
        #expect(try await HTTPAnswer.curl(server, "/v1/calls", token: wake).status == 404)
        for method in ["GET", "POST", "PUT", "DELETE"] {
            let nothing = try await HTTPAnswer.curl(server, call + "/legs", token: wake, "--request", method)
            #expect(nothing.status == 404 && nothing.headers["allow"] == nil, "\(method)")
            #expect(try nothing.errorCode == "not_found")
        }
        try wakeUp.expectUntouched(.acted)
    }

    @Test("what the listener or the pages refuse is the error object, too")
    func listener() async throws {
        let server = try await world.startServer()
        let (call, push) = ("/v1/calls/\(CallID.random())", "/v1/pushes/\(PushID.random())/report")
        let long = "X-Long: " + String(repeating: "x", count: 40_000)
        for (path, options, status, code) in [
            (push, ["--header", "Transfer-Encoding: chunked", "--data", "{}"], 411, "invalid_request"),
            (push, ["--header", "Expect:", "--data", String(repeating: " ", count: 65_537)], 413, "too_large"),
            (push, ["--request", "POST", "--header", "Content-Length: many"], 400, "invalid_request"),
            (call, ["--header", long], 431, "too_large"), (call, ["--request", "BREW"], 405, "method_not_found"),
            ("/v1/signal", [], 426, "invalid_request"), ("/v1/nothing", [], 404, "not_found"),
            ("/nothing", [], 404, "not_found"), ("/phone/", ["--data", "{}"], 405, "method_not_found"),
            ("/healthz", ["--data", "{}"], 405, "method_not_found"),
        ] as [(String, [String], Int, String)] {
            let answer = try await HTTPAnswer.curl(options + ["http://\(server.address)\(path)"])
            #expect(answer.status == status, "\(path)")
            #expect(answer.headers["content-type"] == "application/json", "\(status)")
            #expect(try answer.errorCode == code, "\(status)")
        }
    }

    @Test("an action is refused with its reason and a status, and acts only for the device that is named")
    func actions() async throws {
        let wakeUp = try await WakeUp.start()
        let wake = try wakeUp.wakeToken
        func act(_ action: String, _ body: String? = nil, token: String?) async throws -> HTTPAnswer {
            let path = "/v1/calls/\(wakeUp.call)/\(action)"
            guard let body else {
                return try await HTTPAnswer.curl(wakeUp.server, path, token: token, "--request", "POST")
            }
            return try await HTTPAnswer.curl(wakeUp.server, path, token: token, "--json", body)
        }
        let bob = try await world.token("bob")
        let refusals: [(String, String?, String?, Int, String)] = [
            ("answer", nil, nil, 401, "unauthenticated"),
            ("answer", nil, try await world.token("mallory"), 403, "forbidden"),
            ("answer", nil, try await world.token("alice"), 403, "forbidden"),
            ("answer?device=\(DeviceID.random())", nil, bob, 403, "forbidden"),
            ("answer?device=\(DeviceID.random())", nil, wake, 401, "unauthenticated"),
            ("answer?device=42", nil, wake, 400, "invalid_params"),
            ("decline", #"{"reason":"tired"}"#, wake, 400, "invalid_params"),
            ("decline", "{", wake, 400, "parse_error"), ("hangup", "[]", wake, 400, "invalid_request"),
        ]
        for (action, body, token, status, code) in refusals {
            let answer = try await act(action, body, token: token)
            #expect(answer.status == status, "\(action) \(body ?? "")")
            #expect(try answer.errorCode == code, "\(action) \(body ?? "")")
            #expect((answer.headers["www-authenticate"] != nil) == (status == 401), "\(action) \(body ?? "")")
        }
        try wakeUp.expectUntouched()
        let get = try await HTTPAnswer.curl(wakeUp.server, "/v1/calls/\(wakeUp.call)/answer", token: wake)
        #expect(get.status == 405 && get.headers["allow"] == "POST")

        // bob has one device in the call, so his own token need not name it.
        #expect(try await act("ringing", token: bob).object["state"] as? String == "ringing")
        _ = try await wakeUp.alice.state(.ringing, of: wakeUp.call)
        let declined = try await act("decline", #"{"reason":"busy"}"#, token: wake)
        #expect(declined.status == 200 && declined.body == #"{"state":"ended","reason":"busy"}"#)
        #expect(try await act("hangup", token: wake).body == declined.body, "changes nothing any more")
        let late = try await act("answer", token: wake)
        #expect(late.status == 409)
        #expect(try late.errorCode == "call_ended")
        #expect(try await wakeUp.alice.ended(wakeUp.call).reason == .busy)
    }

    @Test("a call that has left memory is read from the store, before and after a restart")
    func fromTheStore() async throws {
        let server = try await world.startServer { $0.timers.tombstone = .milliseconds(1) }
        let alice = try await world.phone("alice", at: server.address)
        let bob = try await world.phone("bob", at: server.address)
        let call = try await alice.connects(to: bob)
        try await alice.hangUp(call)
        _ = try await bob.ended(call)
        await alice.softphone.disconnect()
        await bob.softphone.disconnect()
        try await expectEnded(call, on: server)
        await server.stop()
        try await expectEnded(call, on: try await world.startServer())
    }

    private func expectEnded(_ call: CallID, on server: CallServer) async throws {
        for (user, role) in [("alice", "caller"), ("bob", "callee")] {
            let answer = try await HTTPAnswer.curl(server, "/v1/calls/\(call)", token: try await world.token(user))
            #expect(answer.status == 200)
            #expect(try answer.object["role"] as? String == role)
            #expect(try answer.object["state"] as? String == "ended")
            #expect(try answer.object["reason"] as? String == "hangup")
        }
        let unknown = try await HTTPAnswer.curl(
            server, "/v1/calls/\(CallID.random())", token: try await world.token("mallory"))
        let stranger = try await HTTPAnswer.curl(server, "/v1/calls/\(call)", token: try await world.token("mallory"))
        #expect(stranger.status == 403)
        #expect(stranger == unknown)
    }
}

/// alice calls bob, whose phone a push has launched; its app has no session.
private struct WakeUp {
    let server: CallServer
    let alice: Phone
    let bob: IPhone
    let call: CallID
    let push: CallPush

    private struct NoToken: Error {}

    static func start() async throws -> WakeUp {
        // Longer than a test may take on a busy machine: neither the ring time nor the report's ends meanwhile.
        let (_, server) = try await world.startPushing {
            ($0.timers.ring, $0.timers.longestRing, $0.timers.report) = (.seconds(600), .seconds(600), .seconds(600))
        }
        // For the one session that registers the push token. Afterwards bob's backend delays the app's token, so that
        // the app opens no session.
        let (tokens, backend) = AsyncStream.makeStream(of: String.self)
        atEnd { backend.finish() }
        backend.yield(try await world.token("bob"))
        let bob = try await world.sleepingPhone("bob", at: server.address) {
            $0.softphone.token = .provider {
                guard let token = await tokens.first(where: { _ in true }) else { throw NoToken() }
                return token
            }
        }
        let alice = try await world.onlinePhone("alice", at: server.address)
        let call = try await alice.softphone.call(.user("bob"))
        let push = try await bob.woken()
        #expect(push.call == call)
        // From here on the ledger no longer changes by itself.
        try await world.push("is accepted") { $0.status == .accepted }
        return WakeUp(server: server, alice: alice, bob: bob, call: call, push: push)
    }

    var wakeToken: String {
        get throws {
            guard let token = push.wakeToken else { throw NoToken() }
            return token
        }
    }

    var reportBody: String { #"{"call_id":"\#(call)","result":"reported"}"# }

    func report(token: String?) async throws -> HTTPAnswer {
        try await HTTPAnswer.report(server, push: push.push, token: token, body: reportBody)
    }

    /// The order of the push, to mint other wake tokens from.
    func order(expiresAt: Instant, device: DeviceID? = nil) -> PushIntent {
        PushIntent(
            id: push.push, call: call, user: "bob", device: device ?? bob.softphone.configuration.session.device.id,
            token: .voip(bob.token), from: "alice", fromName: nil, video: false, custom: nil, expiresAt: expiresAt)
    }

    func ledger() throws -> PushRecord { try #require(try world.reader().pushes().first) }

    func callRecord() throws -> CallRecord { try #require(try world.reader().calls().first) }

    /// Checks that neither the push nor the call has changed since the wake-up.
    /// - Parameter report: `acted` after the phone has read its call, which shows that its app runs.
    func expectUntouched(_ report: ReportStatus = .awaited) throws {
        #expect(try ledger().report == report)
        #expect(try callRecord().state == .waking)
        #expect(try world.reader().pushes().count == 1)
        #expect(try world.reader().calls().count == 1)
        #expect(!alice.events.entries.contains { $0.call(call, in: .ringing) != nil })
    }
}
