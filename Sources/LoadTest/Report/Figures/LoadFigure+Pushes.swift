extension LoadFigure {
    /// What the push provider and the ledger say.
    public enum Pushes: String, LoadFigureKind {
        case pushesPerSecond = "pushes_per_second"
        case pushesWrittenInTime = "pushes_written_in_10ms"
        case pushesReceived = "pushes_received"
        case pushesReported = "pushes_reported"
        case pushesRepeated = "pushes_repeated"
        case ledgerStatus = "ledger_STATUS"
        case ledgerReportStatus = "ledger_report_STATUS"
        case providerReceived = "provider_received"
        case providerAccepted = "provider_accepted"
        case providerRefused = "provider_refused"
        case providerDelivered = "provider_delivered"
        case providerReported = "provider_reported"
        case providerReportedInVain = "provider_reported_in_vain"
        case providerKills = "provider_kills"

        public static let group = Figure.Group.pushes

        public var unit: Figure.Unit {
            switch self {
            case .pushesPerSecond: .perSecond
            case .pushesWrittenInTime: .ratio
            case .pushesReceived, .pushesReported, .pushesRepeated, .ledgerStatus, .ledgerReportStatus,
                .providerReceived, .providerAccepted, .providerRefused, .providerDelivered, .providerReported,
                .providerReportedInVain, .providerKills:
                .count
            }
        }

        public var definition: String {
            switch self {
            case .pushesPerSecond:
                "pushes that the server intended in the part that counts, by second, by its own count"
            case .pushesWrittenInTime:
                "of the pushes that the server wrote to the provider's connection in the part that counts, those that it "
                    + "wrote no later than 10 ms after it had decided on them, both commits included: by its own "
                    + "reveille_push_wire_seconds, to a millisecond"
            case .pushesReceived: "of wake: pushes that came to phones, at any time of the run"
            case .pushesReported: "of wake: pushes whose report the server has answered, at any time of the run"
            case .pushesRepeated: "of wake: pushes that came to a phone for a call that it had a push for already"
            case .ledgerStatus:
                "pushes in the server's ledger that stand as STATUS with the provider: of all of the run, at a "
                    + "server elsewhere of all its time"
            case .ledgerReportStatus:
                "pushes in the server's ledger of which the device says STATUS: of all of the run, at a server "
                    + "elsewhere of all its time"
            case .providerReceived: "requests that came to the push provider, by its own count over all of the run"
            case .providerAccepted: "requests that the push provider answered with 200"
            case .providerRefused: "requests that the push provider refused"
            case .providerDelivered: "pushes that the push provider gave to phones"
            case .providerReported: "pushes that apps reported to their phone's system in time"
            case .providerReportedInVain: "reports of a push that was not waited for"
            case .providerKills: "apps that their phone's system ended for a push without a report"
            }
        }
    }
}
