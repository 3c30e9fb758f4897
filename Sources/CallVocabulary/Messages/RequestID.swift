/// The `id` of a JSON-RPC request, given back with its answer.
public enum RequestID: Hashable, Sendable {
    case number(Int64)
    case string(String)
}
