/// The scenarios by name.
enum Workloads {
    /// All that one thread is to do.
    /// - Throws: ``LoadError`` for a scenario that cannot run as planned.
    static func all(_ environment: WorkloadEnvironment) throws -> any Workload {
        let work = try make(environment.plan.scenario, environment)
        return environment.plan.standing > 0 ? AmongStandingCalls(work, environment) : work
    }

    static func make(
        _ scenario: LoadPlan.Scenario, _ environment: WorkloadEnvironment
    ) throws -> any Workload {
        switch scenario {
        case .register: RegisterWorkload(environment)
        case .online, .wake, .fanout: CallWorkload(environment)
        case .relay: RelayWorkload(environment)
        case .churn: ChurnWorkload(environment)
        case .mixed: try MixedWorkload(environment)
        }
    }
}
