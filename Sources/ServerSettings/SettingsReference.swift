/// The reference file: every setting with its meaning and its default, commented out.
public enum SettingsReference {
    public static var text: String {
        (head + Setting.sections.flatMap { ["", "", "# ---- \($0.title)"] + $0.settings.flatMap(lines) })
            .joined(separator: "\n") + "\n"
    }

    private static let head = """
        # Reveille's settings. Every line that starts with "#" and no space is a setting with its default, or with an
        # example where there is none; take the "#" away and change it. As it is, this file changes nothing.
        #
        # It is read from where --config or REVEILLE_CONFIG say, else from reveille.yaml in the data folder. An option of
        # `reveille serve` goes before the environment variable, which goes before this file. Relative paths start at this
        # file. Dots may be written as nesting: "port: 7350" below "listen:".
        #
        # `reveille config check` says what is wrong with it, `reveille config show` what holds and who said so. After
        # SIGHUP (systemctl reload reveille) the server reads everything anew: if anything is wrong it says so and goes on as
        # before; otherwise it takes what says "SIGHUP", without ending a session, and names what needs a restart.
        """.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)

    private static func lines(_ setting: Setting) -> [String] {
        var facts: [String] = []
        if case .integer(let range) = setting.kind {
            facts.append("\(range.lowerBound) to \(range.upperBound)" + (setting.unit.map { " \($0)" } ?? ""))
        }
        if case .choice(let choices) = setting.kind { facts.append(choices.joined(separator: ", ")) }
        facts.append("default: " + (setting.standard?.text ?? setting.standardNote))
        facts.append(setting.environmentName)
        if let flag = setting.flag { facts.append(flag) }
        if let need = setting.need { facts.append(need) }
        return ["", "# \(setting.meaning)", "# (\(facts.joined(separator: "; ")))"]
            + ["#\(setting.key): \(setting.standard?.text ?? setting.example)"]
    }
}
