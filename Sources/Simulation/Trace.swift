import CallCore
import CallVocabulary
import PushCore

/// One line for each thing that happens, short enough to be read by the hundred.
enum Trace {
    static func short<Subject>(_ id: Identifier<Subject>) -> String { String(id.description.prefix(8)) }

    static func text(_ input: CoreInput) -> String {
        switch input {
        case .sessionOpened(let connection, _, let open, let grant):
            let resume = open.resume.map { " resume \(short($0.session)) after \($0.lastSeq)" } ?? ""
            let scope = if case .call(let call) = grant.scope { " wake \(short(call))" } else { "" }
            return "open #\(connection.serial) \(grant.user)/\(short(open.device.id))\(scope)\(resume)"
        case .requested(let connection, _, let command): return "ask #\(connection.serial) \(command)"
        case .notified(let connection, _, let notification): return "notify #\(connection.serial) \(notification)"
        case .connectionLost(let connection): return "lost #\(connection.serial)"
        case .pushReady(let push): return "pushReady \(short(push))"
        case .pushCommitted(let push): return "pushCommitted \(short(push))"
        case .pushEnded(let push, let outcome): return "pushEnded \(short(push)) \(outcome)"
        case .asked(let connection, _, let question, let grant, let device):
            return "http #\(connection.serial) \(grant.user)/\(device.map(short) ?? "-") \(question)"
        case .callFound(let call, let found): return "callFound \(short(call)) \(found == nil ? "no" : "yes")"
        case .callSearchFailed(let call): return "callSearchFailed \(short(call))"
        case .historyRead(let connection, _, let page):
            return "historyRead #\(connection.serial) \(page?.calls.count.description ?? "failed")"
        case .storedCallsListed: return "storedCallsListed"
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
        case .findCall(let call): return "findCall \(short(call))"
        case .readHistory(let connection, _, _): return "readHistory #\(connection.serial)"
        case .observe(let change): return "observe \(change)"
        case .answer(let request, let answer): return "answer \(request.serial) \(answer)"
        }
    }
}

extension CoreInput {
    /// For the counters.
    var name: String {
        switch self {
        case .sessionOpened(_, _, let open, let grant):
            grant.scope == .full ? (open.resume == nil ? "open" : "resume") : "wake"
        case .requested(_, _, let command): command.name
        case .notified(_, _, .ack): "ack"
        case .notified(_, _, .candidates): "candidates"
        case .connectionLost: "lost"
        case .pushReady: "push_ready"
        case .pushCommitted: "push_committed"
        case .pushEnded(_, let outcome): "push_ended.\(outcome.name)"
        case .asked(_, _, .get, _, _): "http.get"
        case .asked(_, _, .report, _, _): "http.report"
        case .callFound(_, let found): found == nil ? "not_found" : "found"
        case .callSearchFailed: "search_failed"
        case .historyRead(_, _, let page): page == nil ? "history_failed" : "history"
        case .storedCallsListed: "listed"
        case .administered: "admin"
        case .drainingBegan: "draining"
        case .reconfigured: "reconfigured"
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
