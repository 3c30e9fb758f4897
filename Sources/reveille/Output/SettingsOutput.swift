import ServerSettings

/// The effective settings, as a table and JSON.
enum SettingsOutput {
    static func table(_ loaded: LoadedSettings) -> Table {
        Table(["SETTING", "VALUE", "FROM", "A CHANGE NEEDS"], of: Setting.all) { setting in
            let value = loaded.settings.shown(setting)
            return [
                setting.key, value.isEmpty ? "(\(setting.standardNote))" : value,
                loaded.settings[setting].origin.description, setting.need ?? "",
            ]
        }
    }

    /// The keys are stable.
    static func json(_ loaded: LoadedSettings) -> [String: Any] {
        var object: [String: Any] = ["settings": Setting.all.map { json($0, loaded.settings) }]
        if let path = loaded.path { object["file"] = path }
        return object
    }

    private static func json(_ setting: Setting, _ settings: EffectiveSettings) -> [String: Any] {
        var object: [String: Any] = [
            "key": setting.key, "origin": json(settings[setting].origin), "is_reloadable": setting.isReloadable,
            "is_secret": setting.isSecret, "environment": setting.environmentName,
        ]
        if let value = settings.plain(setting) { object["value"] = value }
        if let unit = setting.unit { object["unit"] = unit }
        if let flag = setting.flag { object["flag"] = flag }
        return object
    }

    private static func json(_ origin: SettingOrigin) -> [String: Any] {
        switch origin {
        case .flag(let name): ["kind": "flag", "name": name]
        case .environment(let name): ["kind": "environment", "name": name]
        case .file(let path, let line): ["kind": "file", "file": path, "line": line]
        case .standard: ["kind": "default"]
        }
    }
}
