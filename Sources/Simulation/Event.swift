import CallCore
import CallVocabulary
import PushCore
import PushVocabulary

/// A scheduled event. An event of a server process carries the process's number and is ignored after its end.
enum Event {
    // The server.
    case toCore(process: Int, CoreInput)
    case turn(process: Int)
    case committed(process: Int)
    case toPush(process: Int, PushMessage)
    case prepared(process: Int, PushIntent)
    case signed(process: Int, generation: Int)
    case lookUp(process: Int, number: UInt64, Wanted)
    /// The store's tables get all durable records; with a generation the core has asked for that.
    case settle(process: Int, UInt64?)
    /// The store is read for devices that were not seen for long.
    case unseen(process: Int)
    case history(process: Int, ConnectionID, RequestID, HistoryQuery)
    case authorize(process: Int, CoreInput)
    case listed(process: Int)
    case drained(process: Int)
    case stopped(process: Int)
    case start

    // Between the push client and APNs.
    case connected(process: Int, PushConnectionID)
    case toMachine(process: Int, PushInput)
    case request(attempt: Int)
    case delivery(attempt: Int)

    // Sockets and phones.
    case toServer(link: Int, ClientFrame)
    case toPhone(link: Int, ServerFrame)
    case act(phone: Int, Act)

    case realm(RealmEvent)
    case trouble
}

enum PushMessage {
    case queue(PushIntent)
    case transmit(PushID)
    case drop(PushID)
}

enum ClientFrame {
    case open(RequestID, SessionOpen, SessionGrant)
    case request(RequestID, ClientRequest)
    case notify(ClientNotification)
    case ask(RequestID, CallRequest, SessionGrant, DeviceID?)
    case backend(RequestID, BackendRequest)
    /// The client's end is gone.
    case end
}

enum ServerFrame {
    case message(ServerMessage)
    /// The server's end is closed; nil without a close frame.
    case end(CloseCode?)
}

/// A scheduled action of a phone or its owner.
enum Act {
    /// A random action, repeated until the end of the run.
    case anything
    case connect(How)
    case ring(CallID)
    case decide(CallID)
    case media(CallID)
    case hangUp(CallID)
    case report(PushReport, byHTTP: Bool)
    /// Native code acts by HTTP with the push's wake token, before the app has a session.
    case native(CallID)
    case retry

    enum How {
        case open
        case resume
        case wake(CallID)
    }
}
