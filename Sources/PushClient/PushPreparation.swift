import CallVocabulary
import PushCore

/// Orders made ready to be sent: each with its wake token in its body. Made off the push loop.
struct PushPreparation: Sendable {
    /// One order's request, or why there is none.
    enum Result: Sendable {
        case ready(APNSRequest)
        case impossible(reason: String)
    }

    let mintWakeToken: @Sendable (PushOrder) async throws -> String

    func prepare(_ orders: [PushOrder]) async -> [Result] {
        var results: [Result] = []
        results.reserveCapacity(orders.count)
        for order in orders { results.append(await prepare(order)) }
        return results
    }

    private func prepare(_ order: PushOrder) async -> Result {
        do {
            let wakeToken = try await mintWakeToken(order)
            return .ready(try APNSRequest(voip: order, wakeToken: wakeToken))
        } catch let fault as APNSRequest.Fault {
            return .impossible(reason: fault.rawValue)
        } catch {
            return .impossible(reason: "no wake token: \(error)")
        }
    }
}
