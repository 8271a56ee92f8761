import { readFileSync } from 'node:fs'
import { NodeCompiler } from '@myriaddreamin/typst-ts-node-compiler'
import { fontsFor } from '../../../../language/script-fonts.ts'
import type { DocumentView } from './view.ts'
import { withFacturX } from './metadata.ts'

/** Runs in a thread. */

export interface PdfInput {
  readonly view: DocumentView
  readonly xml: string
  /** Folders with more fonts. */
  readonly fonts: readonly string[]
  /** Milliseconds since the epoch. */
  readonly createdAt: number
}

const TEMPLATE = readFileSync(new URL('template.typ', import.meta.url), 'utf8')
/** How many compilations unused results stay in memory. */
const KEPT_RESULTS = 10
let usual: NodeCompiler | undefined

/**
 * Makes the PDF of an invoice: tagged PDF/A-3 with the XML attached (Factur-X). PDF/A must show every character, so a
 * document with characters that no font has becomes an ordinary tagged PDF, with the XML attached.
 */
export async function makePdf({ createdAt, fonts, view, xml }: PdfInput): Promise<Buffer> {
  const data = JSON.stringify(view)
  const more = await fontsFor(data)
  // A compiler with fonts for one document is not kept.
  const compiler = more.length === 0 ? (usual ??= compilerWith(fonts, [])) : compilerWith(fonts, more)
  const source = { mainFileContent: TEMPLATE, inputs: { view: data, xml } }
  const creationTimestamp = Math.floor(createdAt / 1_000)
  try {
    return withFacturX(compiler.pdf(source, { pdfStandard: 'a-3a', creationTimestamp }))
  } catch (error) {
    if (!String(error).includes('could not be displayed')) throw new Error(String(error), { cause: error })
    return compiler.pdf(source, { pdfStandard: '1.7', creationTimestamp })
  } finally {
    compiler.evictCache(KEPT_RESULTS)
  }
}

/** The operator's fonts come first. */
function compilerWith(paths: readonly string[], fonts: readonly Buffer[]): NodeCompiler {
  const fontArgs = [
    ...(paths.length === 0 ? [] : [{ fontPaths: [...paths] }]),
    ...(fonts.length === 0 ? [] : [{ fontBlobs: [...fonts] }]),
  ]
  return NodeCompiler.create(fontArgs.length === 0 ? {} : { fontArgs })
}
