import CallCore
import CallVocabulary
import PushCore
import PushVocabulary

/// One short line for each event.
enum Trace {
    static func short<Subject>(_ id: Identifier<Subject>) -> String { String(id.description.prefix(8)) }

    static func text(_ input: CoreInput) -> String {
        switch input {
        case .client(.opened(let connection, _, let open, let grant)):
            let resume = open.resume.map { " resume \(short($0.session)) after \($0.lastSeq)" } ?? ""
            let scope = if case .call(let call) = grant.scope { " wake \(short(call))" } else { "" }
            return "open #\(connection.serial) \(grant.user)/\(short(open.device.id))\(scope)\(resume)"
        case .client(.requested(let connection, _, let command)): return "ask #\(connection.serial) \(command)"
        case .client(.notified(let connection, _, let notification)):
            return "notify #\(connection.serial) \(notification)"
        case .connectionLost(let connection): return "lost #\(connection.serial)"
        case .push(.ready(let push)): return "pushReady \(short(push))"
        case .push(.committed(let push)): return "pushCommitted \(short(push))"
        case .push(.ended(let push, let outcome)): return "pushEnded \(short(push)) \(outcome)"
        case .client(.asked(let connection, _, let question, let grant, let device)):
            return "http #\(connection.serial) \(grant.user)/\(device.map(short) ?? "-") \(question)"
        case .client(.tokenShown(let connection, _, let grant, _)): return "token #\(connection.serial) \(grant.user)"
        case .client(.backend(let connection, _, let command, _)): return "backend #\(connection.serial) \(command)"
        case .store(.found(let number, let found)):
            let call = found.call.map { " " + short($0.call.id) } ?? ""
            return "found \(number)\(call) \(found.entries.map(\.name.text).joined(separator: " "))"
        case .store(.lookUpFailed(let number)): return "lookUpFailed \(number)"
        case .store(.settled(let generation)): return "settled \(generation)"
        case .store(.unseen(let users)): return "unseen \(users.map(\.text).joined(separator: " "))"
        case .authorized(let call, _, let answer): return "authorized \(short(call)) \(answer)"
        case .sessionAuthorized(let connection, _, let answer): return "authorized #\(connection.serial) \(answer)"
        case .store(.historyRead(let connection, _, let page)):
            return "historyRead #\(connection.serial) \(page?.calls.count.description ?? "failed")"
        case .store(.callsListed): return "storedCallsListed"
        case .administered(let request, let command): return "admin \(request.serial) \(command)"
        case .drainingBegan: return "drainingBegan"
        case .reconfigured: return "reconfigured"
        }
    }

    static func text(_ effect: CoreEffect) -> String {
        switch effect {
        case .persist(.call(let call)):
            let reason = call.endReason?.rawValue ?? ""
            return "persist call \(short(call.id)) \(call.caller.user) to \(call.to) \(call.state) \(reason)"
        case .persist(.leg(let leg)):
            let reason = leg.endReason?.rawValue ?? ""
            let device = "\(leg.device.user)/\(short(leg.device.device))"
            return "persist leg \(short(leg.call)) \(device) \(leg.state) \(reason) push \(short(leg.push))"
        case .persist(.push(let push)):
            return "persist push \(short(push.id)) \(push.status) \(push.report?.rawValue ?? "-") \(push.reason ?? "")"
        case .persist(.device(let device)):
            return "persist device \(device.key.user)/\(short(device.key.device)) tokens \(device.tokens.count)"
        case .persist(let record): return "persist \(record)"
        case .send(let connection, .event(let seq, let event)): return "event #\(connection.serial) \(seq) \(event)"
        case .send(let connection, .reply(_, .opened(let opened))):
            let calls = opened.calls.map { "\(short($0.call)) \($0.state)" }
            return "opened #\(connection.serial) \(short(opened.session)) resumed \(opened.resumed) \(calls)"
        case .send(let connection, .reply(_, let reply)): return "reply #\(connection.serial) \(reply)"
        case .send(let connection, .error(_, let error)):
            return "error #\(connection.serial) \(error.code) \(error.message)"
        case .send(let connection, .welcome): return "welcome #\(connection.serial)"
        case .disconnect(let connection, let code): return "disconnect #\(connection.serial) \(code)"
        case .queueNewPush(let order):
            return "queueNewPush \(short(order.id)) of \(short(order.call)) to \(order.user)"
        case .queuePush(let order): return "queuePush \(short(order.id)) of \(short(order.call)) to \(order.user)"
        case .confirmPush(let push): return "confirmPush \(short(push))"
        case .transmitPush(let push): return "transmitPush \(short(push))"
        case .dropPush(let push): return "dropPush \(short(push))"
        case .lookUp(let number, let wanted):
            let call = wanted.call.map { " " + short($0) } ?? ""
            let words = (wanted.names + wanted.groups).map(\.text) + wanted.tokens.map(\.token)
            return "lookUp \(number)\(call) \(words.joined(separator: " "))"
        case .settle(let generation): return "settle \(generation)"
        case .authorize(let question): return "authorize \(short(question.call))"
        case .authorizeSession(let connection, let question):
            return "authorize #\(connection.serial) \(question.user)/\(short(question.device.id))"
        case .readHistory(let connection, _, _): return "readHistory #\(connection.serial)"
        case .observe(let change): return "observe \(change)"
        case .answer(let request, let answer): return "answer \(request.serial) \(answer)"
        }
    }
}

extension CoreInput {
    /// The name in the counters.
    var name: String {
        switch self {
        case .client(.opened(_, _, let open, let grant)):
            grant.scope == .full ? (open.resume == nil ? "open" : "resume") : "wake"
        case .client(.requested(_, _, let command)): command.name
        case .client(.notified(_, _, .ack)): "ack"
        case .client(.notified(_, _, .candidates)): "candidates"
        case .connectionLost: "lost"
        case .push(.ready): "push_ready"
        case .push(.committed): "push_committed"
        case .push(.ended(_, let outcome)): "push_ended.\(outcome.name)"
        case .client(.asked(_, _, let command, _, _)): "http.\(ClientRequest.call(command).name)"
        case .client(.tokenShown): "token"
        case .client(.backend): "backend"
        case .store(.found(_, let found)):
            found.call != nil ? "call_found" : found.entries.isEmpty ? "nothing_found" : "users_found"
        case .store(.lookUpFailed): "look_up_failed"
        case .store(.settled): "settled"
        case .store(.unseen): "unseen"
        case .authorized(_, _, let answer): "\(answer.name)"
        case .sessionAuthorized(_, _, let answer): "session_\(answer.name)"
        case .store(.historyRead(_, _, let page)): page == nil ? "history_failed" : "history"
        case .store(.callsListed): "listed"
        case .administered: "admin"
        case .drainingBegan: "draining"
        case .reconfigured: "reconfigured"
        }
    }
}

extension AuthorizationAnswer {
    fileprivate var name: String {
        switch self {
        case .allowed: "authorized"
        case .refused: "unauthorized"
        case .failed: "authorization_failed"
        case .crowded: "authorization_crowded"
        case .unasked: "authorization_unasked"
        }
    }
}

extension PushOutcome {
    var name: String {
        switch self {
        case .accepted: "accepted"
        case .rejected(_, let isTokenDead): isTokenDead ? "rejected_for_good" : "rejected"
        case .unknown: "unknown"
        case .returned: "returned"
        case .unsent: "unsent"
        }
    }
}
