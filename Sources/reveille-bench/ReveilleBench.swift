import ArgumentParser

/// Measures parts of the project, beside well-known programs that do the same or beside a reference.
@main
struct ReveilleBench: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reveille-bench",
        abstract: "Measures components of Reveille against well-known programs or a reference operation.",
        discussion: "Build it for release. Figures hold for one machine at one time: compare ratios, and CPU per push.",
        subcommands: [PartCommand.self, PushCommand.self], defaultSubcommand: PartCommand.self)
}
