import { pipeline } from 'node:stream/promises'
import { CsvError, parse } from 'csv-parse'
import type { Slices } from '../../../../core/slices.ts'

export type Separator = ',' | ';' | '\t'

export const MAX_COLUMNS = 300
/** The maximum number of rows with empty ones, which sheets can have many of. */
const MAX_RECORDS = 20_000
/** The maximum number of cells with empty ones. */
const MAX_CELLS = 400_000

/** Bytes that are parsed at once. A cell needs at least one byte, and takes less than a microsecond. */
const CHUNK = 4_096

/** Why a file cannot be used. */
export interface FileProblem {
  readonly code: 'too_many_columns' | 'too_many_rows' | 'too_many_cells' | 'invalid_csv'
  readonly problem: string
}

/** Parses CSV in slices. The size of the table is checked first, so that a file of commas is not parsed at all. */
export async function readRecords(
  text: string,
  delimiter: Separator,
  slices: Slices,
): Promise<{ readonly records: string[][] } | FileProblem> {
  const bytes = Buffer.from(text)
  const tooLarge = await sizeProblem(bytes, delimiter, slices)
  if (tooLarge !== undefined) return tooLarge
  const records: string[][] = []
  try {
    await pipeline(
      async function* () {
        for (let at = 0; at < bytes.length; at += CHUNK) {
          yield bytes.subarray(at, at + CHUNK)
          await slices.pause()
        }
      },
      parse({ delimiter, relax_column_count: true }),
      async (parsed: AsyncIterable<string[]>) => {
        for await (const record of parsed) records.push(record)
      },
    )
  } catch (error) {
    if (!(error instanceof CsvError)) throw error
    return { code: 'invalid_csv', problem: csvProblem(error) }
  }
  return { records }
}

const [QUOTE, LINE_FEED, CARRIAGE_RETURN] = [0x22, 0x0a, 0x0d]

/** Counts rows, columns and cells outside of quotation marks, up to the first bound that they exceed. */
async function sizeProblem(bytes: Uint8Array, delimiter: Separator, slices: Slices): Promise<FileProblem | undefined> {
  const separator = delimiter.charCodeAt(0)
  let isQuoted = false
  let [rows, columns, cells] = [1, 1, 0]
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at]
    if (byte === QUOTE) isQuoted = !isQuoted
    else if (isQuoted) continue
    else if (byte === separator) {
      columns += 1
      cells += 1
      if (columns > MAX_COLUMNS) {
        return { code: 'too_many_columns', problem: `A file can have at most ${MAX_COLUMNS} columns.` }
      }
    } else if (byte === LINE_FEED || (byte === CARRIAGE_RETURN && bytes[at + 1] !== LINE_FEED)) {
      rows += 1
      columns = 1
      cells += 1
    }
    if (rows > MAX_RECORDS) return { code: 'too_many_rows', problem: `The file has more than ${MAX_RECORDS - 1} rows.` }
    if (cells > MAX_CELLS)
      return { code: 'too_many_cells', problem: `The file has more than ${MAX_CELLS} cells. Split it.` }
    if (at % 65_536 === 0) await slices.pause()
  }
  return undefined
}

function csvProblem(error: CsvError): string {
  const row = typeof error['records'] === 'number' ? error['records'] + 1 : undefined
  const where = row === undefined ? 'The file' : `Row ${row}`
  if (error.code === 'CSV_QUOTE_NOT_CLOSED') return `${where} opens a quotation mark that is never closed.`
  if (error.code.includes('QUOTE')) {
    return `${where} has a quotation mark inside of a cell. Put the cell in quotation marks and double those inside of it: "5"" screen".`
  }
  return `${where} is not valid CSV: ${error.message}`
}
