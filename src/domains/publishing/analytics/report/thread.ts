import { readFileSync } from 'node:fs'
import { NodeCompiler, type CompileDocArgs } from '@myriaddreamin/typst-ts-node-compiler'
import { fontsFor } from '../../../../language/script-fonts.ts'
import { accentColors } from '../branding/contrast.ts'
import { chartSvg } from './charts.ts'
import { chartTable } from './chart-table.ts'
import { reportWords, type ReportTextKey } from './language.ts'
import type { ReportModel } from './model.ts'

/** Runs in a thread. */

export { scoreSlots } from '../best-times/slots.ts'
export { reportHtml } from './html.ts'

const TEMPLATE = readFileSync(new URL('template.typ', import.meta.url), 'utf8')
/** Texts of the template that need no values. */
const TEXTS = [
  'summary',
  'bestPosts',
  'noPosts',
  'withoutText',
  'picture',
  'gaps',
  'noGaps',
  'method',
  'chartNumbers',
] as const satisfies readonly ReportTextKey[]
/** How many compilations unused results stay in memory. */
const KEPT_RESULTS = 2
let usual: NodeCompiler | undefined

/** The report as a tagged PDF with bookmarks. */
export function reportPdf(model: ReportModel): Promise<Buffer> {
  const creationTimestamp = Math.floor(Date.parse(model.createdAt) / 1_000)
  return compiled(model, (compiler, source) => compiler.pdf(source, { creationTimestamp }))
}

/** The pages of the PDF as one SVG, one below the other. For tests of where things are. */
export function reportPages(model: ReportModel): Promise<string> {
  return compiled(model, (compiler, source) => compiler.svg(source))
}

async function compiled<T>(
  model: ReportModel,
  print: (compiler: NodeCompiler, source: CompileDocArgs) => T,
): Promise<T> {
  const { day, say } = reportWords(model.language)
  const from = model.brand.companyName ?? model.workspace
  const { previousSpan: span, timezone } = model
  const view = {
    ...model,
    texts: {
      ...Object.fromEntries(TEXTS.map((key) => [key, say(key)])),
      logo: say('logo', { from }),
      compared: say('compared', { span, timezone, day: day(model.createdAt) }),
    },
    charts: model.charts.map((chart) => ({
      ...chartTable(chart, model.language),
      alt: chart.alt,
      svg: chartSvg(chart, model.language),
    })),
    brand: { ...model.brand, colors: accentColors(model.brand.accentColor), logo: bytesOf(model.brand.logo) },
    posts: model.posts.map((post) => ({ ...post, picture: bytesOf(post.picture) })),
  }
  const data = JSON.stringify(view)
  const fonts = await fontsFor(JSON.stringify(model))
  // A compiler with fonts for one report is not kept.
  const compiler =
    fonts.length === 0 ? (usual ??= NodeCompiler.create({})) : NodeCompiler.create({ fontArgs: [{ fontBlobs: fonts }] })
  const source = { mainFileContent: TEMPLATE, inputs: { view: data } }
  try {
    return print(compiler, source)
  } catch (error) {
    // The compiler throws objects that are no errors.
    throw new Error(String(error), { cause: error })
  } finally {
    if (compiler === usual) compiler.evictCache(KEPT_RESULTS)
  }
}

/** Typst reads pictures as a list of bytes. */
function bytesOf(base64: string | null): number[] | null {
  return base64 === null ? null : [...Buffer.from(base64, 'base64')]
}
