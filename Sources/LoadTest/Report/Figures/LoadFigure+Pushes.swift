extension LoadFigure {
    /// Counts of the push provider and the ledger.
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

        public var meaning: Meaning {
            switch self {
            case .pushesPerSecond:
                (.perSecond, "pushes that the server intended per second of the measured part, by its own count")
            case .pushesWrittenInTime:
                (
                    .ratio,
                    "share of the pushes in the measured part that the server wrote to the provider's connection "
                        + "within "
                        + "10 ms of deciding on them, both commits included; from reveille_push_wire_seconds, to a "
                        + "millisecond"
                )
            case .pushesReceived: (.count, "pushes that came to phones, at any time of the run")
            case .pushesReported: (.count, "pushes whose report the server answered, at any time of the run")
            case .pushesRepeated: (.count, "pushes that came to a phone for a call for which it already had a push")
            case .ledgerStatus:
                (.count, "pushes in the server's ledger with the provider status STATUS; with --target of all its time")
            case .ledgerReportStatus:
                (.count, "pushes in the server's ledger with the report status STATUS; with --target of all its time")
            case .providerReceived: (.count, "requests that the push provider received during the run")
            case .providerAccepted: (.count, "requests that the push provider answered with 200")
            case .providerRefused: (.count, "requests that the push provider refused")
            case .providerDelivered: (.count, "pushes that the push provider delivered to phones")
            case .providerReported: (.count, "pushes that apps reported to their phone's system in time")
            case .providerReportedInVain: (.count, "reports of pushes that the phone's system did not wait for")
            case .providerKills: (.count, "apps that their phone's system ended for a push without a report")
            }
        }
    }
}
