import CallVocabulary

/// One manual page, in the macros of man(7).
struct ManualPage {
    let name: String
    private var lines: [String] = []

    /// The page of the program, with the list of commands.
    init(of program: CommandDescription) {
        name = program.commandName
        begin(program.abstract ?? "", "Commands")
        section("SYNOPSIS")
        lines += [".B \(Self.escaped(name))", ".I command", "[\\fIoptions\\fR]"]
        section("DESCRIPTION")
        prose(program.discussion ?? "")
        section("COMMANDS")
        for command in program.shownSubcommands {
            tagged("\\fB\(Self.escaped("\(name)-\(command.commandName)"))\\fR(1)", command.abstract ?? "")
        }
        section("OPTIONS")
        tagged("\\fB\\-\\-help\\fR", "Tells what the program, or the command before it, does, and ends.")
        tagged("\\fB\\-\\-version\\fR", "Prints the version and ends.")
        end(Self.standardExit)
    }

    /// A section of terms and their meanings, in addition to the help of a command.
    struct Appendix {
        let title: String
        let introduction: String
        let terms: [(term: String, meaning: String)]
    }

    /// The page of one command and its subcommands.
    init(of command: CommandDescription, in program: String, appendices: [Appendix] = []) {
        name = "\(program)-\(command.commandName)"
        let leaves = Self.leaves(command, "\(program) \(command.commandName)")
        begin(command.abstract ?? "", "Commands")
        section("SYNOPSIS")
        for leaf in leaves {
            // Lines that go on stand in.
            lines += [".HP 4", Self.synopsis(leaf.command, leaf.path)]
        }
        section("DESCRIPTION")
        prose(command.discussion ?? command.abstract ?? "")
        if leaves.count == 1, leaves[0].command.commandName == command.commandName {
            section("OPTIONS")
            arguments(command)
        } else {
            for leaf in leaves {
                section(leaf.path.uppercased())
                prose([leaf.command.abstract, leaf.command.discussion].compactMap(\.self).joined(separator: "\n\n"))
                arguments(leaf.command)
            }
        }
        for appendix in appendices {
            section(appendix.title)
            prose(appendix.introduction)
            for (term, meaning) in appendix.terms { tagged("\\fB\(Self.escaped(term))\\fR", meaning) }
        }
        let hasOwnExit = ([command] + leaves.map(\.command)).contains { ($0.discussion ?? "").contains("xit code") }
        end(hasOwnExit ? Self.ownExit : Self.standardExit)
        section("SEE ALSO")
        lines.append("\\fB\(Self.escaped(program))\\fR(1)")
    }

    var text: String { lines.joined(separator: "\n") + "\n" }

    private static func leaves(
        _ command: CommandDescription, _ path: String
    ) -> [(path: String, command: CommandDescription)] {
        let children = command.shownSubcommands
        guard !children.isEmpty else { return [(path, command)] }
        return children.flatMap { leaves($0, "\(path) \($0.commandName)") }
    }

    // MARK: Parts

    private mutating func begin(_ abstract: String, _ kind: String) {
        lines.append(".TH \"\(name.uppercased())\" 1 \"\" \"reveille \(ServeCommand.version)\" \"\(kind)\"")
        // Neither stretched nor hyphenated: names of commands and options stay as they are typed.
        lines += [".ad l", ".nh"]
        section("NAME")
        lines.append("\(Self.escaped(name)) \\- \(Self.escaped(abstract))")
    }

    private static let standardExit = """
        0: it is done. 1: what was asked for failed, or is not so. 2: it could not be reached, or could not run. 64: the \
        command line is wrong.
        """
    private static let ownExit = "As described above; where nothing is said there: \(standardExit)"

    private mutating func end(_ exit: String) {
        section("EXIT STATUS")
        prose(exit)
    }

    private mutating func section(_ title: String) { lines.append(".SH \"\(Self.escaped(title))\"") }

    private mutating func tagged(_ tag: String, _ text: String) {
        lines += [".TP", tag]
        prose(text)
    }

    /// Paragraphs, with an empty line between them. One in which a line stands in, or has columns, is printed as it is.
    private mutating func prose(_ text: String) {
        var isFirst = true
        for paragraph in text.split(separator: "\n", omittingEmptySubsequences: false).split(separator: "") {
            if !isFirst { lines.append(".PP") }
            isFirst = false
            let isLiteral = paragraph.contains { $0.contains("  ") }
            if isLiteral { lines.append(".nf") }
            lines += paragraph.map { Self.line(String($0)) }
            if isLiteral { lines.append(".fi") }
        }
    }

    private mutating func arguments(_ command: CommandDescription) {
        for argument in command.shownArguments {
            var words = [argument.abstract, argument.discussion].compactMap(\.self)
            if let values = argument.allValues { words.append("One of \(values.joined(separator: ", ")).") }
            if let value = argument.defaultValue { words.append("Default: \(value).") }
            tagged(Self.tag(argument), words.joined(separator: " "))
        }
    }

    // MARK: Text

    /// Characters of choices that stand in the place of a value's name; more of them are listed below it alone.
    private static let mostChoices = 40

    private static func tag(_ argument: CommandDescription.Argument) -> String {
        let choices = (argument.allValues ?? []).joined(separator: "|")
        let hasChoices = !choices.isEmpty && choices.count <= mostChoices && argument.kind != "positional"
        let value = "\\fI\(escaped(hasChoices ? choices : argument.valueName ?? "value"))\\fR"
        guard argument.kind != "positional" else { return value }
        let names = (argument.names ?? []).map { "\\fB\(escaped($0.text))\\fR" }.joined(separator: ", ")
        return argument.kind == "flag" ? names : "\(names) \(value)"
    }

    private static func synopsis(_ command: CommandDescription, _ path: String) -> String {
        let parts = command.shownArguments.map { argument in
            // Of several names the longest says most.
            var argument = argument
            argument.names = argument.names.flatMap { $0.max { $0.name.count < $1.name.count } }.map { [$0] }
            let tag = tag(argument) + (argument.isRepeating ? "..." : "")
            return argument.isOptional ? "[\(tag)]" : tag
        }
        return "\\fB\(escaped(path))\\fR " + parts.joined(separator: " ")
    }

    /// A dot or a quote at the beginning would be taken for a request.
    private static func line(_ text: String) -> String {
        let escaped = escaped(text)
        return escaped.hasPrefix(".") || escaped.hasPrefix("'") ? "\\&" + escaped : escaped
    }

    private static func escaped(_ text: String) -> String {
        text.replacingBytes("\\", with: "\\e").replacingBytes("-", with: "\\-")
    }
}
