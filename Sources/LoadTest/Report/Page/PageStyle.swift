/// How a report's page looks: on wide and narrow screens, light and dark, and on paper.
enum PageStyle {
    /// Colours that people with any of the usual kinds of colour vision can tell apart, in this order.
    private static let light = ["2a78d6", "eb6834", "1baf7a", "b98300", "d0518f", "008300", "4a3aa7", "8a5a2b"]
    private static let dark = ["4d95ec", "ef7d4d", "2bb98a", "d9a01e", "e2709f", "4fae4f", "9d93f0", "c09060"]

    static let css = """
        \(theme(":root", "color-scheme: light dark; ", isDark: false))
        @media (prefers-color-scheme: dark) { \(theme(":root", isDark: true)) }
        @media print { \(theme(":root", isDark: false)) }
        \(rules)
        \(lineColours)
        """

    private static func theme(_ selector: String, _ first: String = "", isDark: Bool) -> String {
        let page =
            isDark
            ? "--page: #14161a; --card: #1c1f25; --text: #e6e8ec; --soft: #a2a8b3; --edge: #333842; --grid: #2c3038; "
                + "--bad: #ff7b72; --badPage: #3a1c1c; --warn: #e3b341; --warnPage: #332a12; --good: #56c271; "
                + "--goodPage: #16301d; "
            : "--page: #f6f7f9; --card: #ffffff; --text: #1b1f26; --soft: #5a6270; --edge: #d9dde4; --grid: #e8ebf0; "
                + "--bad: #b3261e; --badPage: #fdecea; --warn: #7a5200; --warnPage: #fff5d9; --good: #17692f; "
                + "--goodPage: #e5f5e9; "
        let colours = (isDark ? dark : light).enumerated().map { "--c\($0): #\($1);" }.joined(separator: " ")
        return "\(selector) { \(first)\(page)\(colours) }"
    }

    private static var lineColours: String {
        light.indices.map { ".c\($0) { stroke: var(--c\($0)); }" }.joined(separator: " ")
            + " .bad { stroke: var(--bad); } .dashed { stroke-dasharray: 6 4; }"
    }

    private static let rules = """
        * { box-sizing: border-box; }
        body { margin: 0; background: var(--page); color: var(--text);
          font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
        main { max-width: 1180px; margin: 0 auto; padding: 24px 20px 48px; }
        h1 { font-size: 26px; line-height: 1.2; margin: 0 0 4px; }
        h2 { font-size: 18px; margin: 36px 0 10px; }
        h3 { font-size: 15px; margin: 0 0 6px; }
        p { margin: 0 0 8px; }
        .soft { color: var(--soft); }
        code, pre { font-family: ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; font-size: 13px; }
        pre { background: var(--card); border: 1px solid var(--edge); border-radius: 8px; padding: 12px 14px;
          white-space: pre-wrap; overflow-wrap: anywhere; margin: 0 0 12px; }
        .box { border-radius: 8px; padding: 10px 14px; margin: 14px 0; border-left: 4px solid; }
        .box ul { margin: 4px 0 0; padding-left: 20px; }
        .box li { overflow-wrap: anywhere; }
        .good { background: var(--goodPage); border-color: var(--good); }
        .wrong { background: var(--badPage); border-color: var(--bad); }
        .doubt { background: var(--warnPage); border-color: var(--warn); }
        .good strong { color: var(--good); } .wrong strong { color: var(--bad); }
        .doubt strong { color: var(--warn); }
        .heads { display: grid; grid-template-columns: repeat(auto-fit, minmax(165px, 1fr)); gap: 12px;
          margin: 18px 0 0; padding: 0; list-style: none; }
        .heads li { background: var(--card); border: 1px solid var(--edge); border-radius: 8px; padding: 12px 14px; }
        .heads b { display: block; font-size: 24px; line-height: 1.25; font-variant-numeric: tabular-nums; }
        .heads span { display: block; color: var(--soft); font-size: 13px; line-height: 1.35; }
        .plots { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 460px), 1fr)); gap: 14px; }
        figure { margin: 0; background: var(--card); border: 1px solid var(--edge); border-radius: 8px;
          padding: 12px 14px 10px; min-width: 0; }
        figcaption { color: var(--soft); font-size: 13px; margin-top: 4px; }
        svg { display: block; width: 100%; height: auto; overflow: visible; }
        svg.swatch { display: inline-block; width: 22px; height: 10px; margin-right: 6px; vertical-align: middle; }
        .line { fill: none; stroke-width: 2; stroke-linejoin: round; stroke-linecap: round; }
        .mark { fill: var(--card); stroke-width: 1.5; }
        .grid { stroke: var(--grid); stroke-width: 1; }
        .tick { fill: var(--soft); font-size: 12.5px; }
        .right { text-anchor: end; } .middle { text-anchor: middle; }
        .legend { list-style: none; margin: 0 0 6px; padding: 0; display: flex; flex-wrap: wrap; gap: 2px 16px;
          font-size: 13px; }
        .wide { overflow-x: auto; margin: 0 0 12px; background: var(--card); border: 1px solid var(--edge); border-radius: 8px; }
        table { border-collapse: collapse; width: 100%; font-size: 14px; }
        th, td { text-align: left; vertical-align: top; padding: 7px 12px; border-top: 1px solid var(--grid); }
        thead th { border-top: none; color: var(--soft); font-weight: 600; font-size: 13px; white-space: nowrap; }
        tbody th { font-weight: 400; white-space: nowrap; }
        td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
        td.said { color: var(--soft); min-width: 220px; }
        table.narrow { width: auto; } table.narrow td { overflow-wrap: anywhere; }
        tr.group th { padding-top: 14px; font-weight: 600; }
        footer { margin-top: 40px; color: var(--soft); font-size: 13px; }
        @media (max-width: 640px) {
          main { padding: 16px 12px 32px; } th, td { padding: 6px 8px; }
          .tick { font-size: 17px; } td.said { min-width: 320px; } .heads { grid-template-columns: repeat(2, 1fr); gap: 8px; }
          .heads b { font-size: 20px; } figure { padding: 10px 8px 8px; }
        }
        @media print {
          body { font-size: 12px; background: none; } main { max-width: none; padding: 0; }
          figure, tr, .box, .heads li { break-inside: avoid; } h2 { break-after: avoid; }
          .plots { grid-template-columns: 1fr 1fr; } .wide { overflow: visible; }
          * { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
        }
        """
}
