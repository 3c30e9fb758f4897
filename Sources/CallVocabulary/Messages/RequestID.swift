/// The `id` of a JSON-RPC request, returned with its reply.
public enum RequestID: Hashable, Sendable {
    case number(Int64)
    case string(String)
}
