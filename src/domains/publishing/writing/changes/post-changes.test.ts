import { Compile } from 'typebox/compile'
import { describe, expect, test } from 'vitest'
import { changesOf } from './post-changes.ts'
import { PostChanges } from './schemas.ts'
import { contentHash, type OverrideSnapshot, type PostSnapshot } from './snapshot.ts'

const [A, B, C, D] = [1, 2, 3, 4].map((digit) => `01890000-0000-7000-8000-00000000000${digit}`) as [
  string,
  string,
  string,
  string,
]

const POST: PostSnapshot = {
  content: 'The quick fox',
  title: null,
  link: 'https://example.com',
  media: [{ assetId: A, renditionId: null, altText: 'A fox' }, { assetId: B }],
  thread: [{ content: 'Second part', media: [] }],
  firstComment: 'First!',
  tags: ['fox'],
  labels: ['animals', 'spring'],
  scheduledFor: '2026-11-30T08:00:00.000Z',
  localTime: '2026-11-30T09:00:00',
  timezone: 'Europe/Berlin',
  lateMinutes: 60,
  targets: [
    { accountId: A, override: null },
    {
      accountId: B,
      override: { content: 'The quick fox, here', options: { visibility: 'public', poll: { days: 3 } } },
    },
  ],
}

const schema = Compile(PostChanges)

/** The changes, which must fit the schema and survive JSON. */
function changes(after: Partial<PostSnapshot>, before: PostSnapshot = POST): PostChanges {
  const found = changesOf(before, { ...POST, ...after })
  expect(schema.Errors(found)).toEqual([])
  expect(JSON.parse(JSON.stringify(found))).toEqual(found)
  return found
}

describe('the changes between two versions', () => {
  test('of the same post are none', () => {
    expect(changes({})).toEqual({ parts: [] })
    expect(changesOf({}, { content: '', title: null, media: [], targets: [], labels: null })).toEqual({ parts: [] })
  })

  test('of a text are its words', () => {
    expect(changes({ content: 'The slow fox', title: 'Fox', link: null })).toEqual({
      parts: ['text'],
      content: [
        { kind: 'equal', text: 'The ' },
        { kind: 'delete', text: 'quick' },
        { kind: 'insert', text: 'slow' },
        { kind: 'equal', text: ' fox' },
      ],
      title: [{ kind: 'insert', text: 'Fox' }],
      link: [{ kind: 'delete', text: 'https://example.com' }],
    })
  })

  test('of media are what was added, removed, moved and described', () => {
    const media = [{ assetId: C }, { assetId: B }, { assetId: A, altText: 'A red fox' }]
    expect(changes({ media })).toEqual({
      parts: ['media'],
      media: {
        added: [{ assetId: C, renditionId: null, position: 0 }],
        removed: [],
        isReordered: true,
        altTexts: [{ assetId: A, before: 'A fox', after: 'A red fox' }],
      },
    })
    expect(changes({ media: [{ assetId: B }] }).media).toEqual({
      added: [],
      removed: [{ assetId: A, renditionId: null, position: 0 }],
      isReordered: false,
      altTexts: [],
    })
  })

  test('of a file that is used twice, or as another rendition', () => {
    const twice = [{ assetId: A, altText: 'A fox' }, { assetId: B }, { assetId: B }]
    expect(changes({ media: twice }).media).toMatchObject({ added: [{ assetId: B, position: 2 }], removed: [] })
    const square = [
      { assetId: A, altText: 'A fox' },
      { assetId: B, renditionId: C },
    ]
    expect(changes({ media: square }).media).toMatchObject({
      added: [{ assetId: B, renditionId: C, position: 1 }],
      removed: [{ assetId: B, renditionId: null, position: 1 }],
    })
  })

  test('of a thread are its parts', () => {
    const thread = [{ content: 'Second part', media: [{ assetId: D }] }, { content: 'Third' }]
    const found = changes({ thread })
    expect(found.parts).toEqual(['text', 'media'])
    expect(found.thread).toEqual([
      {
        index: 0,
        kind: 'changed',
        media: {
          added: [{ assetId: D, renditionId: null, position: 0 }],
          removed: [],
          isReordered: false,
          altTexts: [],
        },
      },
      { index: 1, kind: 'added', content: [{ kind: 'insert', text: 'Third' }] },
    ])
    expect(changes({ thread: [] }).thread).toEqual([
      { index: 0, kind: 'removed', content: [{ kind: 'delete', text: 'Second part' }] },
    ])
  })

  test('of lists, times and settings', () => {
    const later = { scheduledFor: '2026-11-30T14:00:00.000Z', timezone: 'America/New_York' }
    expect(changes({ labels: ['spring', 'animals', 'new'], tags: [], lateMinutes: 0, ...later })).toEqual({
      parts: ['text', 'times', 'labels', 'settings'],
      tags: { added: [], removed: ['fox'], isReordered: false },
      labels: { added: ['new'], removed: [], isReordered: true },
      lateMinutes: { before: 60, after: 0 },
      scheduledFor: {
        before: '2026-11-30T08:00:00.000Z',
        after: '2026-11-30T14:00:00.000Z',
        localTimeBefore: '2026-11-30T09:00:00',
        localTimeAfter: '2026-11-30T09:00:00',
        timezoneBefore: 'Europe/Berlin',
        timezoneAfter: 'America/New_York',
      },
    })
  })

  test('of targets are accounts, and fields of each account', () => {
    const targets = [
      { accountId: C },
      {
        accountId: B,
        override: { title: 'Own', options: { poll: { days: 3 }, visibility: 'followers', sensitive: true } },
      },
    ]
    expect(changes({ targets })).toEqual({
      parts: ['targets'],
      targets: {
        added: [C],
        removed: [A],
        changed: [
          {
            accountId: B,
            content: [{ kind: 'delete', text: 'The quick fox, here' }],
            title: [{ kind: 'insert', text: 'Own' }],
            options: [
              { option: 'sensitive', after: true },
              { option: 'visibility', before: 'public', after: 'followers' },
            ],
            replaced: ['title'],
            restored: ['content'],
          },
        ],
      },
    })
  })

  test('of an override that becomes empty, which replaces the text of the post by nothing', () => {
    const targets = [{ accountId: A, override: { content: '' } }, ...(POST.targets ?? []).slice(1)]
    expect(changes({ targets }).targets?.changed).toEqual([{ accountId: A, replaced: ['content'], restored: [] }])
  })

  test('of the time of one account', () => {
    const [a, b] = POST.targets ?? []
    const targets = [
      { accountId: A, ...a, override: { scheduledFor: '2026-12-01T08:00:00.000Z' } },
      b ?? { accountId: B },
    ]
    const found = changes({ targets })
    expect(found.parts).toEqual(['targets', 'times'])
    expect(found.targets?.changed[0]?.scheduledFor).toMatchObject({ before: null, after: '2026-12-01T08:00:00.000Z' })
  })
})

describe('the hash of what an approver has seen', () => {
  const hash = contentHash(POST)

  test('is a SHA-256 that other versions of the server give too', () => {
    expect(hash).toBe('99211dbf246d747eee040bd21cec2206861e8dec75b6a3c14031fc583afe2195')
  })

  const [a, b] = POST.targets ?? []
  const variants: [string, Partial<PostSnapshot>][] = [
    ['content', { content: 'The quick fox ' }],
    ['the composition of a character', { content: 'The quick fóx'.normalize('NFD') }],
    ['the same, composed', { content: 'The quick fóx'.normalize('NFC') }],
    ['title', { title: 'Fox' }],
    ['link', { link: null }],
    ['a file less', { media: [{ assetId: A, altText: 'A fox' }] }],
    ['the order of files', { media: [{ assetId: B }, { assetId: A, altText: 'A fox' }] }],
    ['alt text', { media: [{ assetId: A, altText: 'A dog' }, { assetId: B }] }],
    [
      'rendition',
      {
        media: [
          { assetId: A, altText: 'A fox' },
          { assetId: B, renditionId: C },
        ],
      },
    ],
    ['the file behind an asset', { media: [{ assetId: A, altText: 'A fox', checksum: 'ab' }, { assetId: B }] }],
    ['thread', { thread: [] }],
    ['a part of the thread more', { thread: [{ content: 'Second part' }, { content: '' }] }],
    ['first comment', { firstComment: 'Second!' }],
    ['tags', { tags: ['fox', 'dog'] }],
    ['time', { scheduledFor: '2026-11-30T08:01:00.000Z' }],
    ['zone', { timezone: 'Europe/Paris' }],
    ['an account less', { targets: [b ?? { accountId: B }] }],
    ['an account more', { targets: [...(POST.targets ?? []), { accountId: C }] }],
    ['an override', { targets: [{ accountId: A, override: { content: 'Own' } }, b ?? { accountId: B }] }],
    ['an empty override', { targets: [{ accountId: A, override: { content: '' } }, b ?? { accountId: B }] }],
    [
      'an option',
      {
        targets: [
          a ?? { accountId: A },
          { accountId: B, override: { ...b?.override, options: { visibility: 'public', poll: { days: 4 } } } },
        ],
      },
    ],
  ]

  test('is another one after each change that can be seen', () => {
    const hashes = variants.map(([, variant]) => contentHash({ ...POST, ...variant }))
    expect(new Set([hash, ...hashes]).size).toBe(variants.length + 1)
  })

  test('does not depend on the order of fields and targets, or on how nothing is written', () => {
    const reversed = Object.fromEntries(Object.entries(POST).toReversed()) as PostSnapshot
    expect(contentHash(reversed)).toBe(hash)
    expect(contentHash({ ...POST, targets: POST.targets?.toReversed() ?? [] })).toBe(hash)
    expect(
      contentHash({
        ...POST,
        title: '',
        media: [
          { altText: 'A fox', assetId: A },
          { assetId: B, altText: null },
        ],
      }),
    ).toBe(hash)
    const { title: _title, ...untitled } = POST
    expect(contentHash({ ...untitled, thread: [{ content: 'Second part' }] })).toBe(hash)
    const options = { poll: { days: 3 }, visibility: 'public' }
    const targets = [a ?? { accountId: A }, { override: { options, content: 'The quick fox, here' }, accountId: B }]
    expect(contentHash({ ...POST, targets })).toBe(hash)
  })

  test('does not depend on how an override is stored', () => {
    const own = (override: OverrideSnapshot) => contentHash({ ...POST, targets: [{ accountId: A, override }] })
    expect(own({ media: [{ assetId: A, renditionId: null }], options: {} })).toBe(own({ media: [{ assetId: A }] }))
    expect(own({ media: [] })).not.toBe(own({}))
    expect(own({ title: null })).not.toBe(own({}))
  })

  test('does not depend on labels and the late limit, which are not published', () => {
    expect(contentHash({ ...POST, labels: [], lateMinutes: 0 })).toBe(hash)
  })
})
