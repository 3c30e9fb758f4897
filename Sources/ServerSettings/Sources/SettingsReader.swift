import CallServer
import Configuration

/// Reads and checks all sources.
struct SettingsReader {
    private(set) var settings = EffectiveSettings()
    private(set) var faults: [SettingsFault] = []
    /// The file that was read.
    let path: String?
    /// See ``SettingsFile/isBlank``; false without a file.
    let isBlank: Bool

    /// One source, asked by the setting.
    private struct Source {
        let provider: any ConfigProvider
        let origin: (Setting) -> SettingOrigin?
        /// The original text, for the fault.
        let text: (Setting) -> String
    }

    /// - Throws: `SettingsFile.Unreadable`.
    init(_ sources: SettingsSources) throws {
        path = sources.path
        let file = try path.map { try SettingsFile(path: $0) }
        isBlank = file?.isBlank ?? false
        faults = file?.faults ?? []
        let all = [Self.flags(sources), Self.environment(sources)] + (file.map { [Self.file($0)] } ?? [])
        for setting in Setting.all { resolve(setting, all) }
        fillIn(sources)
        warnOfUnknownVariables(sources)
        if let file, sources.file == nil, sources.environment[SettingsSources.fileVariable] == nil {
            refuseOtherFolder(file)
        }
    }

    /// Checks every source, including overridden ones.
    private mutating func resolve(_ setting: Setting, _ sources: [Source]) {
        var isResolved = false
        for source in sources {
            guard let origin = source.origin(setting) else { continue }
            let value = value(of: setting, source, origin)
            guard !isResolved else { continue }
            settings[setting] = .init(value: value ?? setting.standard, origin: origin)
            isResolved = true
        }
    }

    /// nil, with a fault, for an invalid value.
    private mutating func value(of setting: Setting, _ source: Source, _ origin: SettingOrigin) -> ConfigContent? {
        let found: ConfigContent?
        do {
            found = try source.provider.value(forKey: setting.configKey, type: setting.type).value?.content
        } catch {
            faults.append(
                SettingsFault(at: origin, key: setting.key, setting.mismatch(source.text(setting)), setting.wanted))
            return nil
        }
        // The file's faults were found when it was read.
        guard let found else { return nil }
        guard let objection = setting.objection(to: found) else { return found }
        faults.append(SettingsFault(at: origin, key: setting.key, objection, setting.wanted))
        return nil
    }

    /// The defaults that depend on the machine or on other settings.
    private mutating func fillIn(_ sources: SettingsSources) {
        let standards: [(Setting, ConfigContent)] = [
            (.data, .string(sources.dataFolder.path)), (.shards, .int(ServerConfiguration.standardShards)),
            (.messageBurst, .int(4 * (settings.integer(.messagesPerSecond) ?? 0))),
        ]
        for (setting, value) in standards where settings[setting].value == nil {
            settings[setting].value = value
        }
        guard let data = settings.text(.data) else { return }
        let files: [(Setting, String)] = [
            (.tokenSecretFile, TokenConfiguration.standardSecretFile), (.backendTokensFile, BackendToken.standardFile),
        ]
        for (setting, file) in files where settings[setting].value == nil {
            settings[setting].value = .string("\(data)/\(file)")
        }
    }

    private static func flags(_ sources: SettingsSources) -> Source {
        let flags = sources.flags.values
        let values = Setting.all.compactMap { setting in
            flags[setting.key].map { (setting.configKey, ConfigValue($0, isSecret: setting.isSecret)) }
        }
        return Source(
            provider: InMemoryProvider(name: "flags", values: Dictionary(uniqueKeysWithValues: values)),
            origin: { setting in flags[setting.key] == nil ? nil : .flag(setting.flag ?? setting.key) },
            text: { flags[$0.key]?.text ?? "" })
    }

    private static func environment(_ sources: SettingsSources) -> Source {
        let variables = sources.environment
        return Source(
            provider: EnvironmentVariablesProvider(environmentVariables: variables).prefixKeys(with: "reveille"),
            origin: { variables[$0.environmentName] == nil ? nil : .environment($0.environmentName) },
            text: { variables[$0.environmentName] ?? "" })
    }

    private static func file(_ file: SettingsFile) -> Source {
        Source(
            provider: InMemoryProvider(name: "file", values: file.values),
            origin: { setting in file.lines[setting.key].map { .file(path: file.path, line: $0) } },
            text: { _ in "" })
    }

    /// Only a warning: other software also sets variables of this prefix, such as Kubernetes for a service of that
    /// name.
    private mutating func warnOfUnknownVariables(_ sources: SettingsSources) {
        let prefix = "REVEILLE_"
        let known = (Setting.all.map(\.environmentName) + [SettingsSources.fileVariable]).map {
            $0.dropFirst(prefix.count)
        }
        for name in sources.environment.keys.sorted() where name.hasPrefix(prefix) {
            let end = String(name.dropFirst(prefix.count))
            guard !known.contains(Substring(end)),
                let nearest = NearestKey.of(end, among: known.map(String.init), separator: "_")
            else { continue }
            faults.append(
                SettingsFault(
                    .warning, at: .environment(name), key: nil, "there is no such setting",
                    "did you mean \(prefix)\(nearest)?"))
        }
    }

    /// A file that was found in the data folder cannot name another one: what holds would depend on how it was found.
    private mutating func refuseOtherFolder(_ file: SettingsFile) {
        guard let line = file.lines[Setting.data.key] else { return }
        faults.append(
            SettingsFault(
                at: .file(path: file.path, line: line), key: Setting.data.key,
                "this file was found in the data folder, and cannot name another",
                "take the line out, or name the file with --config"))
    }
}
