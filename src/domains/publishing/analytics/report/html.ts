import { escapeHtml as e } from '../../../../tools/html.ts'
import { accentColors } from '../branding/contrast.ts'
import { chartTable } from './chart-table.ts'
import { chartSvg, COLORS, INK } from './charts.ts'
import { reportWords, type ReportWords } from './language.ts'
import type { ReportChart, ReportModel, ReportPost, ReportTable } from './model.ts'

/** The report as one file without scripts and without addresses of other files. */
export function reportHtml(model: ReportModel): string {
  const { brand, charts, createdAt, gaps, method, posts, previousSpan, sentences, span, tables, timezone, title } =
    model
  const words = reportWords(model.language)
  const { day, say } = words
  const from = brand.companyName ?? model.workspace
  const { accent, onDark, text, upon } = accentColors(brand.accentColor)
  return `<!doctype html>
<html lang="${model.language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${e(`${title}: ${from}, ${span}`)}</title>
<style>:root{--accent:${accent};--accent-text:${text};--accent-on-dark:${onDark};--upon-accent:${upon}}${STYLE}</style>
</head>
<body>
<header>
${brand.logo === null ? '' : `<img class="logo" alt="${e(say('logo', { from }))}" src="data:image/webp;base64,${e(brand.logo)}">`}
<p class="kind"><span>${e(title)}</span></p>
<h1>${e(from)}</h1>
<p>${e(span)}</p>
<p class="quiet">${e(say('compared', { span: previousSpan, timezone, day: day(createdAt) }))}</p>
${brand.website === null ? '' : `<p class="quiet"><a href="https://${e(brand.website)}">${e(brand.website)}</a></p>`}
</header>
<main>
<section aria-labelledby="summary"><h2 id="summary">${e(say('summary'))}</h2>
${sentences.map((sentence) => `<p>${e(sentence)}</p>`).join('\n')}
</section>
${charts.map((chart) => chartHtml(chart, words)).join('\n')}
${tables.map((table) => `<section><h2>${e(table.title)}</h2>${tableHtml(table, words)}</section>`).join('\n')}
<section><h2>${e(say('bestPosts'))}</h2>
${posts.length === 0 ? `<p>${e(say('noPosts'))}</p>` : `<ol>${posts.map((post) => postHtml(post, words)).join('\n')}</ol>`}
</section>
<section><h2>${e(say('gaps'))}</h2>
${gaps.length === 0 ? `<p>${e(say('noGaps'))}</p>` : `<ul>${gaps.map((gap) => `<li>${e(gap)}</li>`).join('')}</ul>`}
</section>
<section><h2>${e(say('method'))}</h2>
<dl>${method.map(([term, text]) => `<dt>${e(term)}</dt><dd>${e(text)}</dd>`).join('\n')}</dl>
</section>
</main>
${brand.footerText === null ? '' : `<footer class="quiet">${e(brand.footerText)}</footer>`}
</body>
</html>
`
}

function chartHtml(chart: ReportChart, words: ReportWords): string {
  const { language, say } = words
  const { alt, title } = chart
  // The picture is one image for screen readers; the table behind it has the numbers.
  const svg = themed(chartSvg(chart, language)).replace('<svg ', `<svg role="img" aria-label="${e(alt)}" `)
  return `<section><h2>${e(title)}</h2>
<figure tabindex="0" role="group" aria-label="${e(say('chart', { title }))}">${svg}</figure>
<details><summary>${e(say('numbers', { title }))}</summary>${tableHtml(chartTable(chart, language), words)}</details>
</section>`
}

/** A chart whose colors the style of the page sets, because dark mode needs lighter ones. */
function themed(svg: string): string {
  return Object.entries(LIGHT).reduce((text, [name, color]) => text.replaceAll(color, `var(--${name})`), svg)
}

function tableHtml({ columns, rows, title }: ReportTable, { say }: ReportWords): string {
  const cells = (row: readonly string[]) =>
    row.map((cell, index) => (index === 0 ? `<th scope="row">${e(cell)}</th>` : `<td>${e(cell)}</td>`)).join('')
  return `<div class="scroll" role="region" aria-label="${e(say('table', { title }))}" tabindex="0"><table>
<thead><tr>${columns.map((column) => `<th scope="col">${e(column)}</th>`).join('')}</tr></thead>
<tbody>${rows.map((row) => `<tr>${cells(row)}</tr>`).join('\n')}</tbody>
</table></div>`
}

function postHtml({ figures, picture, published, text, url, where }: ReportPost, { say }: ReportWords): string {
  const shown = e(text === '' ? say('withoutText') : text)
  const isSafe = url !== null && /^https?:\/\//.test(url)
  // The text beside it says what the post is about.
  const image = picture === null ? '' : `<img alt="" src="data:image/webp;base64,${e(picture)}">`
  return `<li>${image}<p>${isSafe ? `<a href="${e(url)}">${shown}</a>` : shown}</p><p class="quiet">${e(where)}, ${e(published)}. ${e(figures)}</p></li>`
}

/** The colors of charts by the name of their variable. */
const LIGHT: Readonly<Record<string, string>> = {
  ...Object.fromEntries(COLORS.map((color, index) => [`chart-${index}`, color])),
  ...Object.fromEntries(Object.entries(INK).map(([name, color]) => [`chart-${name}`, color])),
}
/** The same hues with a contrast of at least 3 to 1 with the dark background. */
const DARK_COLORS = ['#60a5fa', '#fb923c', '#4ade80', '#c084fc', '#f87171', '#2dd4bf', '#facc15', '#cbd5e1']
const DARK: Readonly<Record<string, string>> = {
  ...Object.fromEntries(DARK_COLORS.map((color, index) => [`chart-${index}`, color])),
  'chart-text': '#e5e7eb',
  'chart-axis': '#9ca3af',
  'chart-line': '#374151',
}

function variables(colors: Readonly<Record<string, string>>): string {
  return Object.entries(colors)
    .map(([name, color]) => `--${name}:${color}`)
    .join(';')
}

const STYLE = `
:root{color-scheme:light dark;font:1rem/1.55 Georgia,serif;--ink:#1f2937;--page:#fff;--quiet:#4b5563;--line:#d1d5db;${variables(LIGHT)};color:var(--ink);background:var(--page)}
@media screen and (prefers-color-scheme:dark){:root{--ink:#e5e7eb;--page:#111827;--quiet:#9ca3af;--line:#374151;--accent-text:var(--accent-on-dark);${variables(DARK)}}}
body{max-width:46rem;margin:0 auto;padding:1.5rem 1rem 4rem}
header{border-bottom:3px solid var(--accent);padding:2rem 0 1.5rem;margin-bottom:1.5rem}
h1{font-size:2.2rem;line-height:1.15;margin:.2rem 0 .6rem}h2{font-size:1.3rem;margin:2.2rem 0 .6rem}
p{margin:.3rem 0}.kind{font-weight:bold}.kind span{background:var(--accent);color:var(--upon-accent);padding:.15rem .6rem;border-radius:.2rem;print-color-adjust:exact;-webkit-print-color-adjust:exact}.quiet{color:var(--quiet);font-size:.92rem}
figure{margin:0;overflow-x:auto}svg{width:100%;min-width:34rem;height:auto}a{color:var(--accent-text)}
.scroll{overflow-x:auto}table{border-collapse:collapse;width:100%;font-size:.92rem}
th,td{padding:.35rem .6rem;border-bottom:1px solid var(--line);text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}
tbody th:first-child{white-space:normal;min-width:9rem}th:first-child{text-align:left}thead th{border-bottom:2px solid var(--quiet)}
dt{font-weight:bold;margin-top:.6rem}dd{margin:0}summary{cursor:pointer;padding:.4rem 0;color:var(--accent-text)}
li{margin:.8rem 0}li::after{content:"";display:block;clear:both}li img{float:right;width:5rem;height:auto;margin-left:1rem}.logo{max-width:10rem;max-height:5rem}
footer{border-top:1px solid var(--line);margin-top:2rem;padding-top:1rem}
@media print{svg{min-width:0}body{max-width:none;padding:0}section{break-inside:avoid}details:not([open]){display:none}}
`
