import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { ManualClock } from '../../../../core/clock.ts'
import { Slices } from '../../../../core/slices.ts'
import { COLUMNS, columnOfPath, describeColumns } from './columns.ts'
import { exportSheet } from './export.ts'
import { importSheet, type CellError, type ImportOptions, type SheetRow } from './import.ts'
import type { SheetPost } from './sheet-post.ts'

/** Another seed gives other cases. */
const SEED = 20261130

const [A, B] = ['01890000-0000-7000-8000-00000000000a', '01890000-0000-7000-8000-00000000000b'] as const
const HANDLES = new Map([
  ['mastodon:@acme', A],
  [A, A],
  [B, B],
])

const options: ImportOptions = {
  account: (reference) => {
    const accountId = HANDLES.get(reference)
    return accountId === undefined ? { problem: `There is no account ${reference}.` } : { accountId }
  },
}

const read = (file: string | Uint8Array) => importSheet(typeof file === 'string' ? Buffer.from(file) : file, options)

async function rows(file: string | Uint8Array): Promise<readonly SheetRow[]> {
  const sheet = await read(file)
  if (!sheet.ok) throw new Error(sheet.errors.map(({ message }) => message).join(' '))
  return sheet.rows
}

const posts = async (file: string | Uint8Array) =>
  (await rows(file)).map(({ errors, post }) => {
    expect(errors).toEqual([])
    return post
  })

/** `row N column: code: message`, or `- …` for the file. */
async function problems(file: string | Uint8Array): Promise<string[]> {
  const sheet = await read(file)
  const shown = ({ code, column, message }: CellError) => `${column ?? '-'}: ${code}: ${message}`
  if (!sheet.ok) return sheet.errors.map(shown)
  return sheet.rows.flatMap(({ errors, row }) => errors.map((error) => `row ${row} ${shown(error)}`))
}

const utf16 = (text: string, bigEndian = false) => {
  const bytes = Buffer.from(`\uFEFF${text}`, 'utf16le')
  return bigEndian ? bytes.swap16() : bytes
}

describe('encodings and separators', () => {
  const want = [{ content: 'Grüße, Welt', scheduledFor: '2026-11-30T09:00:00' }]
  const comma = 'content,scheduledFor\r\n"Grüße, Welt",2026-11-30 09:00\r\n'
  const semicolon = 'content;scheduledFor\nGrüße, Welt;2026-11-30 09:00'
  const tab = 'Content\tScheduled For\r\nGrüße, Welt\t2026-11-30 09:00\r\n'

  test.each([
    ['UTF-8', Buffer.from(comma)],
    ['UTF-8 with a byte order mark', Buffer.from(`\uFEFF${comma}`)],
    ['semicolons', Buffer.from(semicolon)],
    ['tabs', Buffer.from(tab)],
    ["Excel's Unicode text", utf16(tab)],
    ['UTF-16, big endian', utf16(semicolon, true)],
    ['sep=;', Buffer.from(`sep=;\r\n${semicolon}`)],
    ['sep= with a byte order mark', Buffer.from(`\uFEFFsep=;\n${semicolon}`)],
    ['old line ends', Buffer.from(comma.replaceAll('\r\n', '\r'))],
  ])('%s', async (_, file) => {
    expect(await posts(file)).toEqual(want)
    const sheet = await read(file)
    expect(sheet.ok && sheet.warnings).toEqual([])
  })

  test('Windows-1252, with a warning', async () => {
    const sheet = await read(Buffer.from(semicolon, 'latin1'))
    expect(sheet.ok && sheet.rows[0]?.post.content).toBe('Grüße, Welt')
    expect(sheet.ok && sheet.warnings).toEqual([expect.stringContaining('read as Windows-1252')])
  })

  test.each([
    ['an Excel workbook', Buffer.from('PK\u0003\u0004...'), 'This is an Excel workbook'],
    ['an old one', Buffer.from([0xd0, 0xcf, 0x11, 0xe0, 1]), 'Excel 97'],
    ['UTF-16 without a byte order mark', Buffer.from(tab, 'utf16le'), 'NUL'],
    ['a large file', Buffer.alloc(2 * 1024 * 1024 + 1, 'a'), 'larger than 2 MB'],
  ])('%s is refused', async (_, file, message) => {
    expect(await problems(file)).toEqual([expect.stringContaining(message)])
  })
})

describe('columns', () => {
  test('names are compared without case, spaces and hyphens, and have aliases', async () => {
    expect(await posts('TEXT,First Comment,time-zone,Images,LABEL\nHi,Me,Europe/Berlin,a1,news')).toEqual([
      { content: 'Hi', firstComment: 'Me', timezone: 'Europe/Berlin', media: ['a1'], labels: ['news'] },
    ])
  })

  test('of everything that a post can have', async () => {
    const file = [
      'content;title;link;media;thread;firstComment;tags;labels;timezone;lateMinutes;queue;recurrence;draft;publishNow;accounts;' +
        `override.mastodon:@acme`,
      `Hi;T;https://a.example;a1, a2;"two\n---\nthree";C;x, y;"a;b";UTC;30;label:tips;FREQ=DAILY;yes;no;"mastodon:@acme, ${B}";"{""content"":""Toot""}"`,
    ].join('\n')
    expect(await posts(file.replace('FREQ=DAILY', '"FREQ=DAILY;COUNT=3"'))).toEqual([
      {
        content: 'Hi',
        title: 'T',
        link: 'https://a.example',
        media: ['a1', 'a2'],
        thread: [{ content: 'two' }, { content: 'three' }],
        firstComment: 'C',
        tags: ['x', 'y'],
        labels: ['a', 'b'],
        timezone: 'UTC',
        lateMinutes: 30,
        queue: { label: 'tips' },
        recurrence: { rrule: 'FREQ=DAILY;COUNT=3' },
        draft: true,
        publishNow: false,
        targets: [{ accountId: A, override: { content: 'Toot' } }, { accountId: B }],
      },
    ])
  })

  test('that are unknown are named, with the known ones', async () => {
    const [first, second] = await problems('content,Titel,color\nHi,a,b')
    expect(first).toMatch(
      /^Titel: unknown_column: "Titel" is not a column\. Did you mean title\? The columns are content, /,
    )
    expect(second).toMatch(/^color: unknown_column: .*override\.<account>\.$/)
  })

  test('that are given twice, or of unknown accounts', async () => {
    expect(await problems('content,Text\nHi,Ho')).toEqual([
      'Text: duplicate_column: Another column is for content as well.',
    ])
    expect(await problems('content,override.x:@y\nHi,{}')).toEqual([
      'override.x:@y: unknown_account: There is no account x:@y.',
    ])
    expect((await problems(`content,override.${A},override.mastodon:@acme\nHi,{},{}`))[0]).toContain('duplicate_column')
  })

  test('without a name are ignored if they are empty', async () => {
    expect(await posts('content,title,,\nHi,T,,\n,,,\nHo,,,')).toEqual([
      { content: 'Hi', title: 'T' },
      { content: 'Ho' },
    ])
    expect(await problems('content,\nHi,x')).toEqual([
      'row 2 -: extra_cell: The row has "x" in column 2, which has no name.',
    ])
    expect(await problems('content\nHi,x')).toEqual([
      'row 2 -: extra_cell: The row has "x" in column 2, which has no name.',
    ])
  })

  test('are described', async () => {
    expect(describeColumns().split('\n')).toHaveLength(COLUMNS.length + 2)
    expect(describeColumns()).toContain('- `scheduledFor`: When to publish')
  })

  test('of a path of createPost', async () => {
    const post: SheetPost = { targets: [{ accountId: A }, { accountId: B, override: {} }] }
    expect(columnOfPath('/media/0/assetId', post)).toBe('media')
    expect(columnOfPath('/targets/1/override/content', post)).toBe(`override.${B}`)
    expect(columnOfPath('/targets/0/accountId', post)).toBe('accounts')
    expect(columnOfPath('/workspaceId', post)).toBeNull()
  })
})

describe('rows', () => {
  test('have the number that a sheet shows, also after cells of several lines and empty rows', async () => {
    const file = 'content,scheduledFor\n"one\ntwo\n\nthree",2026-11-30 09:00\n\n,\nlast,soon\n'
    expect((await rows(file)).map(({ row }) => row)).toEqual([2, 5])
    expect((await rows(file))[0]?.post.content).toBe('one\ntwo\n\nthree')
    expect((await problems(file))[0]).toMatch(
      /^row 5 scheduledFor: invalid_cell: scheduledFor "soon" is not a date and time/,
    )
  })

  test('each have all their errors, and what is valid', async () => {
    const file = `content,accounts,lateMinutes,draft,tags,media,queue,override.${A}\nHi,"who, ${B}, ${B}",soon,maybe,[1],"[{""id"":1}]",later,[]`
    expect((await problems(file)).map((text) => text.split(':').slice(0, 2).join(':'))).toEqual([
      'row 2 accounts: unknown_account',
      'row 2 accounts: unknown_account',
      'row 2 lateMinutes: invalid_cell',
      'row 2 draft: invalid_cell',
      'row 2 tags: invalid_cell',
      'row 2 media: invalid_cell',
      'row 2 queue: invalid_cell',
      `row 2 override.${A}: invalid_cell`,
    ])
    expect((await rows(file))[0]?.post).toEqual({ content: 'Hi', targets: [{ accountId: B }] })
  })

  test('with an override for an account that they do not list', async () => {
    expect(await problems(`content,accounts,override.${A}\nHi,${B},{}`)).toEqual([
      `row 2 override.${A}: account_not_in_row: The row has an override for this account, but accounts does not list it.`,
    ])
  })

  test('are at least one and at most 500', async () => {
    const file = (count: number) => `content\n${'Hi\n\n'.repeat(count)}`
    expect(await problems('content\n\n')).toEqual([expect.stringContaining('no_rows')])
    expect(await problems('')).toEqual([expect.stringContaining('no_rows')])
    expect(await posts(file(500))).toHaveLength(500)
    expect(await problems(file(501))).toEqual([expect.stringContaining('too_many_rows')])
    expect(await problems(`content\n${'\n'.repeat(30_000)}Hi`)).toEqual([
      expect.stringContaining('more than 19999 rows'),
    ])
  })

  test('with a cell that is too long', async () => {
    expect(await posts(`content\n${'a'.repeat(45_000)}`)).toHaveLength(1)
    expect(await problems(`content\n${'a'.repeat(45_001)}`)).toEqual([
      expect.stringContaining('row 2 content: cell_too_long'),
    ])
  })

  test('with a great many errors say the first ones', async () => {
    expect(await problems(`content\nHi${',x'.repeat(200)}`)).toHaveLength(20)
    expect((await problems(`content,${'y'.repeat(5_000)}\nHi,x`))[0]?.length).toBeLessThan(500)
    expect(await problems(`content${',unknown'.repeat(200)}\nHi`)).toHaveLength(20)
    expect(await problems(`content,accounts\nHi,"${'who,'.repeat(90)}"`)).toHaveLength(20)
  })

  test('of a table that is too large is not parsed', async () => {
    const wide = `content${',x'.repeat(60_000)}\nHi`
    expect(await problems(wide)).toEqual(['-: too_many_columns: A file can have at most 300 columns.'])
    expect(await problems(`content\nHi${','.repeat(300)}`)).toEqual([expect.stringContaining('too_many_columns')])
    expect(await problems(`content\n"${','.repeat(300)}"`)).toEqual([])
    expect(await problems(`content${`\nHi${','.repeat(299)}`.repeat(1_400)}`)).toEqual([
      expect.stringContaining('too_many_cells'),
    ])
    expect(await problems(`content,accounts\nHi,"${'who,'.repeat(101)}"`)).toEqual([
      'row 2 accounts: unknown_account: The cell lists more than 100 accounts.',
    ])
  })

  test('are read in slices', async () => {
    const clock = new ManualClock()
    let pauses = 0
    const slices = new Slices({
      now: () => clock.now(),
      monotonic: () => {
        pauses += 1
        return clock.monotonic()
      },
    })
    const file = `content${`\n${'a'.repeat(500)}`.repeat(200)}`
    const sheet = await importSheet(Buffer.from(file), options, slices)
    expect(sheet.ok && sheet.rows).toHaveLength(200)
    // One for each row, and one for each of the 25 chunks of the file.
    expect(pauses).toBeGreaterThan(220)
  })

  test('with broken quotation marks', async () => {
    expect(await problems('content\nfine\n"never closed\nHi')).toEqual([
      '-: invalid_csv: Row 3 opens a quotation mark that is never closed.',
    ])
    expect((await problems('content\nfine\na 5" screen'))[0]).toMatch(
      /^-: invalid_csv: Row 3 has a quotation mark inside of a cell\./,
    )
    expect((await problems('content\n"a"b'))[0]).toMatch(
      /^-: invalid_csv: Row 2 has a quotation mark inside of a cell\./,
    )
  })
})

describe('exports', () => {
  test.each(['=1+1', '+49 30', '-5 %', '@acme', '\tx', "'=x", "''@x", '＝x', "it's", "'quoted'"])(
    '%j is no formula, and comes back',
    async (content) => {
      const file = await exportSheet([{ content }])
      const cell = /\r\n"((?:[^"]|"")*)"/.exec(file.toString())?.[1] ?? ''
      expect(cell).not.toMatch(/^[=+\-@\t\r\n＝＋－＠]/)
      expect(await posts(file)).toEqual([{ content }])
    },
  )

  test('open in Excel: byte order mark, CRLF, only the columns that are used', async () => {
    const file = (
      await exportSheet([{ content: 'Grüße', targets: [{ accountId: A, override: { title: 'x' } }] }])
    ).toString()
    expect(file).toBe(
      `\uFEFF"content","scheduledFor","accounts","override.${A}"\r\n"Grüße",,"${A}","{""title"":""x""}"\r\n`,
    )
  })

  const line = fc.oneof(
    fc.string({ minLength: 1, maxLength: 12 }),
    fc.constantFrom(
      'a, b',
      'x;y',
      '=1',
      "'=1",
      '[1]',
      '{',
      'label:x',
      'next',
      '"quoted"',
      '---',
      'é',
      '日本',
      '👍🏽',
      'two\nlines',
      'a\r\nb',
      '\ttab',
      'end ',
    ),
  )
  const filled = line.filter((text) => text.trim() !== '' && !text.includes('\0') && text.isWellFormed())
  const word = filled.map((text) => text.trim())
  const content = fc.array(filled, { minLength: 1, maxLength: 4 }).map((lines) => lines.join('\n---\n'))
  const ids = fc.uniqueArray(word, { minLength: 1, maxLength: 3 })
  const override = fc.record({ content, options: fc.dictionary(word, fc.jsonValue()) }, { requiredKeys: [] })
  const post = fc
    .record(
      {
        content,
        title: filled,
        link: word,
        media: fc.oneof(ids, fc.array(fc.record({ assetId: word, altText: filled }), { minLength: 1, maxLength: 3 })),
        thread: fc.array(fc.oneof(fc.record({ content }), fc.record({ content, media: ids })), {
          minLength: 1,
          maxLength: 3,
        }),
        firstComment: filled,
        tags: ids,
        labels: ids,
        scheduledFor: fc.constantFrom('2026-11-30T09:00:00', '2026-11-30T09:00:00+01:00', '2026-03-29T02:30:00'),
        timezone: fc.constantFrom('Europe/Berlin', 'UTC'),
        lateMinutes: fc.nat(1_440),
        queue: fc.oneof(fc.constant({}), fc.record({ label: word })),
        recurrence: fc.constantFrom({ rrule: 'FREQ=DAILY' }, { rrule: 'FREQ=DAILY;COUNT=2', exdates: ['2026-12-01'] }),
        publishNow: fc.boolean(),
        draft: fc.boolean(),
        targets: fc.uniqueArray(
          fc.oneof(
            fc.record({ accountId: fc.constantFrom(A, B) }),
            fc.record({ accountId: fc.constantFrom(A, B), override }),
          ),
          { minLength: 1, maxLength: 2, selector: ({ accountId }) => accountId },
        ),
      },
      { requiredKeys: ['content'] },
    )
    .map((value) => JSON.parse(JSON.stringify(value)) as SheetPost)

  test('are read as the same posts', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(post, { minLength: 1, maxLength: 8 }), async (list) => {
        // With the column, an empty cell means none.
        const isCommented = list.some(({ firstComment }) => firstComment !== undefined)
        const read = list.map((one) => (isCommented ? { ...one, firstComment: one.firstComment ?? null } : one))
        expect(await posts(await exportSheet(list))).toEqual(read)
      }),
      { numRuns: 300, seed: SEED },
    )
  })
})
