import { gzipSync } from 'node:zlib'
import sharp from 'sharp'
import { describe, expect, test } from 'vitest'
import { HEAD_BYTES, inspectHead, inspectWhole, type Inspected } from './inspect.ts'

/** Regular and malicious files. Only their start and end are inspected. */

const shape = { width: 30, height: 20, channels: 3 as const, background: 'teal' }
const image = (format: 'png' | 'jpeg' | 'webp' | 'gif' | 'avif') => sharp({ create: shape }).toFormat(format).toBuffer()
const png = await image('png')
const jpeg = await image('jpeg')
const webp = await image('webp')
const gif = await image('gif')
const avif = await image('avif')
const mp4 = boxes(['ftyp', 'isom\0\0\0\0isommp42'], ['moov', 'x'.repeat(200)], ['mdat', 'y'.repeat(5_000)])
const pdf = Buffer.from('%PDF-1.7\n1 0 obj\n<<>>\nendobj\ntrailer\n<<>>\n%%EOF\n')
const svg = (inside: string) =>
  Buffer.from(`<?xml version="1.0"?>\n<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9">${inside}</svg>`)

/** A shadow as design programs write it. */
const SHADOW =
  '<filter id="shadow"><feFlood/><feColorMatrix/><feOffset dy="4"/><feGaussianBlur stdDeviation="2"/><feColorMatrix/><feBlend/></filter>'
const filtered = (primitives: string, times = 1) =>
  `<filter id="f">${primitives}</filter>${'<rect filter="url(#f)" width="9" height="9"/>'.repeat(times)}`
const BLUR = '<feGaussianBlur stdDeviation="50"/>'
/** Small SVG documents that take a minute or more to render. */
const COSTLY = {
  'repeated morphology': filtered('<feMorphology radius="2000"/>'.repeat(3)),
  'morphology with a namespace prefix': `<g xmlns:s="http://www.w3.org/2000/svg">${filtered('<s:feMorphology radius="2000"/>', 3)}</g>`,
  'a chain of blurs': filtered(BLUR.repeat(3_000)),
  'blurs of many elements': filtered(BLUR, 200),
  'blurs of repeated elements': `${filtered(BLUR.repeat(10))}<g id="g">${'<rect filter="url(#f)"/>'.repeat(20)}</g>${'<use href="#g"/>'.repeat(9)}`,
  'filter functions': `<rect filter="${'blur(50px) '.repeat(200)}"/>`,
  'filter functions in a style': `<rect style="filter:${'drop-shadow(1px 1px 9px red) '.repeat(200)}"/>`,
  'filter functions with escapes': `<rect style="filter:${'b\\6cur(50px) '.repeat(200)}"/>`,
  'a style sheet with a filter': `<style>.a{filter:url(#f)}</style>${filtered(BLUR)}${'<g class="a"/>'.repeat(200)}`,
  'a style sheet with a filter function': `<style>rect{filter:blur(50px)}</style>${'<rect/>'.repeat(200)}`,
  'a style sheet in a CDATA section': `<style><![CDATA[/*<x "*/ .a{filter:url(#f)} /*">*/]]></style>${filtered(BLUR)}${'<g class="a"/>'.repeat(200)}`,
  turbulence: filtered('<feTurbulence baseFrequency="0.05" numOctaves="1000"/>', 60),
  'a large kernel': filtered('<feConvolveMatrix order="20" kernelMatrix="1"/>', 3),
  displacements: filtered('<feDisplacementMap in="SourceGraphic" in2="SourceGraphic" scale="9"/>', 40),
  masks: `<mask id="m"><rect width="9" height="9"/></mask>${'<rect mask="url(#m)"/>'.repeat(3_000)}`,
  'markers of many elements': `<marker id="m">${'<rect width="9" height="9"/>'.repeat(100)}</marker><path marker-mid="url(#m)" d="M0 0${'l1 1'.repeat(9_000)}"/>`,
}

/** Inspects a file like an upload: the start, then the end. */
async function inspect(file: Buffer, name = 'file'): Promise<Inspected> {
  const found = await inspectHead(file.subarray(0, HEAD_BYTES), name)
  await inspectWhole(found, file.length, async (start, length) => file.subarray(start, start + length))
  return found
}

describe('accepted', () => {
  test.each([
    ['a.png', png, 'image/png'],
    ['b.JPG', jpeg, 'image/jpeg'],
    ['c.webp', webp, 'image/webp'],
    ['d.gif', gif, 'image/gif'],
    ['e.avif', avif, 'image/avif'],
  ])('%s, with dimensions from the header', async (name, file, type) => {
    expect(await inspect(file, name)).toEqual({ type, kind: 'image', width: 30, height: 20 })
  })

  test.each([
    ['f.mp4', mp4, 'video/mp4'],
    ['g.pdf', pdf, 'application/pdf'],
    ['h.svg', svg('<rect width="3" height="3" fill="url(#a)"/><use href="#b"/>'), 'image/svg+xml'],
    ['report.final', png, 'image/png'],
    ['repeated.svg', svg(repeating(3)), 'image/svg+xml'],
    [
      'shadows.svg',
      svg(`${SHADOW}${'<g filter="url(#shadow)"><rect width="3" height="3"/></g>'.repeat(50)}`),
      'image/svg+xml',
    ],
    ['styled.svg', svg(`<style>.a{fill:url(#p);opacity:.5}</style>${'<g class="a"/>'.repeat(9_000)}`), 'image/svg+xml'],
    ['self-reference.svg', svg('<g id="a"><a href="#a"/><use href="#a"/></g>'), 'image/svg+xml'],
    ['embedded image.svg', svg(`<image href="${embedded(png)}"/>`), 'image/svg+xml'],
    ['an hour in fragments.mp4', Buffer.concat([mp4, ...fragments(7_200)]), 'video/mp4'],
    ['live.webm', matroska(Buffer.alloc(8, 0xff).fill(0x01, 0, 1)), 'video/webm'],
    ['live.wav', wav(0xffffffff), 'audio/wav'],
  ])('%s', async (name, file, type) => {
    expect(await inspect(file, name)).toMatchObject({ type })
  })
})

describe('refused', () => {
  const cases: [what: string, code: string, file: Buffer, name?: string][] = [
    ['an empty file', 'empty_file', Buffer.alloc(0)],
    ['text', 'unsupported_file', Buffer.from('hello there')],
    ['a page', 'unsupported_file', Buffer.from('<!doctype html><html><script>alert(1)</script>')],
    ['a program', 'unsupported_file', Buffer.concat([Buffer.from('7f454c460201', 'hex'), Buffer.alloc(100)])],
    ['a ZIP archive', 'unsupported_file', zip('../../etc/passwd')],
    ['a gzip bomb', 'unsupported_file', gzipSync(Buffer.alloc(50_000_000))],
    ['a compressed SVG', 'unsupported_file', gzipSync(svg('')), 'a.svgz'],

    ['an extension that does not fit the content', 'unsupported_file', jpeg, 'a.png'],
    ['an image with the extension of a web page', 'unsupported_file', png, 'a.html'],
    ['an image with the extension of a program', 'unsupported_file', png, 'a.png.exe'],

    ['a PNG of 30,000 × 30,000 pixels', 'image_too_large', pngHeader(30_000, 30_000)],
    ['a PNG of one long row', 'image_too_large', pngHeader(100_000, 1)],
    ['a JPEG of 30,000 × 30,000 pixels', 'image_too_large', jpegHeader(30_000, 30_000)],
    ['a GIF of 30,000 × 30,000 pixels', 'image_too_large', gifHeader(30_000, 30_000)],
    ['a WebP of 16,000 × 16,000 pixels', 'image_too_large', webpHeader(16_000, 16_000)],
    ['an image of width 0', 'damaged_file', pngHeader(0, 5)],

    ['a PNG that is truncated', 'damaged_file', png.subarray(0, png.length - 20)],
    ['a JPEG that is truncated', 'damaged_file', jpeg.subarray(0, jpeg.length - 2)],
    ['a GIF that is truncated', 'damaged_file', gif.subarray(0, gif.length - 1)],
    ['a WebP that is truncated', 'damaged_file', webp.subarray(0, webp.length - 10)],
    ['a video that is truncated', 'damaged_file', mp4.subarray(0, mp4.length - 1)],
    ['a video without a moov box', 'damaged_file', boxes(['ftyp', 'isom\0\0\0\0isom'], ['mdat', 'y'.repeat(900)])],
    ['a PDF that is truncated', 'damaged_file', pdf.subarray(0, 30)],
    ['a JPEG that is truncated after its thumbnail', 'damaged_file', jpegComment('\xff\xd9').subarray(0, -2)],
    ['a WebM that is truncated', 'damaged_file', matroska(Buffer.from('0100000000001000', 'hex'))],
    ['a WAV that is truncated', 'damaged_file', wav(5_000)],
    [
      'a video with too many boxes',
      'damaged_file',
      boxes(...Array.from({ length: 600 }, (): [string, string] => ['free', '']), ['moov', '']),
    ],

    ['an image followed by an archive', 'unsafe_file', Buffer.concat([jpeg, zip('a.js')])],
    ['a PNG followed by other data', 'unsafe_file', Buffer.concat([png, Buffer.from('more')])],
    ['a WebP followed by other data', 'unsafe_file', Buffer.concat([webp, Buffer.alloc(100, 1)])],
    ['a PDF followed by an archive', 'unsafe_file', Buffer.concat([pdf, zip('a.js')])],
    ['a video with an archive in its last box', 'unsafe_file', Buffer.concat([mp4, boxes(['free', zip('a')])])],
    [
      'an image followed by an archive and other data',
      'unsafe_file',
      Buffer.concat([jpeg, zip('a.js'), Buffer.alloc(9)]),
    ],
    [
      'an image followed by an archive with a long comment',
      'unsafe_file',
      Buffer.concat([jpeg, zip('a.js', 0xffff), Buffer.alloc(0xffff)]),
    ],
    ['an image that is also a web page', 'unsafe_file', jpegComment('<html><script>alert(1)</script>')],
    ['an image that is also a PDF', 'unsafe_file', jpegComment('%PDF-1.4')],
    ['an image that is also PHP', 'unsafe_file', jpegComment('<?php system($_GET[0]); ?>')],
    ['an image followed by a script', 'unsafe_file', Buffer.concat([jpeg, Buffer.from('<script>1</script>')])],

    ...[
      '<script>alert(1)</script>',
      '<svg:script xmlns:svg="http://www.w3.org/2000/svg">1</svg:script>',
      '<rect onload="alert(1)"/>',
      '<rect/onclick=alert(1)>',
      '<a href="javascript:alert(1)">x</a>',
      '<a href="java&#x0a;script:alert(1)">x</a>',
      '<a href="&#106;avascript:alert(1)">x</a>',
      '<foreignObject><body/></foreignObject>',
      '<image href="http://169.254.169.254/"/>',
      '<image xlink:href="file:///etc/passwd"/>',
      '<use href="//evil.example/x.svg#a"/>',
      '<rect style="fill:url(http://evil.example/)"/>',
      '<style>@import "http://evil.example/a.css";</style>',
      '<set attributeName="onmouseover" to="alert(1)"/>',
      '<image href="data:text/html,<b>"/>',
      '<iframe src="x"/>',
      '<a.b:script xmlns:a.b="http://www.w3.org/2000/svg">1</a.b:script>',
      '<é:script xmlns:é="http://www.w3.org/2000/svg">1</é:script>',
      '<x:meta xmlns:x="http://www.w3.org/1999/xhtml" http-equiv="refresh" content="0;url=//evil.example"/>',
      '<x:b xmlns:x="http://www.w3.org/1999/&#120;html"/>',
      '<rect style="fill:u\\72l(http://evil.example/)"/>',
      '<style>\\40 import "http://evil.example/a.css";</style>',
      '<rect style="fill:image-set(\'http://evil.example/\' 1x)"/>',
      '<image href="data:image/svg+xml;base64,PHN2Zy8+"/>',
      '<image href="data:image/png,%89PNG"/>',
      '<text>\x1b(B</text>',
      '<set id=">" attributeName="onclick" to="alert(1)"/>',
    ].map((inside) => [`an SVG with ${inside}`, 'unsafe_file', svg(inside)] as [string, string, Buffer]),
    [
      'an SVG with nested entities',
      'unsupported_file',
      Buffer.from('<!DOCTYPE svg [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><svg>&b;</svg>'),
    ],
    [
      'an SVG in another encoding',
      'unsafe_file',
      Buffer.from('<?xml version="1.0" encoding="ISO-2022-JP"?><svg></svg>'),
    ],
    [
      'an SVG with a huge embedded image',
      'image_too_large',
      svg(`<image href="${embedded(pngHeader(30_000, 30_000))}"/>`),
    ],
    [
      'an SVG with several large embedded images',
      'image_too_large',
      svg(`<image href="${embedded(pngHeader(9_000, 9_000))}"/>`.repeat(2)),
    ],
    ['an SVG with an embedded PDF', 'unsafe_file', svg(`<image href="${embedded(pdf)}"/>`)],
    ['an SVG whose references multiply to a billion elements', 'unsafe_file', svg(repeating(9))],
    [
      'multiplying references between encoded comment marks',
      'unsafe_file',
      svg(`<g class="&#60;!--"/>${repeating(9)}<g class="--&#62;"/>`),
    ],
    ['an SVG with too many references', 'unsafe_file', svg(referring())],
    [
      'multiplying references after comments and quoted marks',
      'unsafe_file',
      svg(repeating(9, '<!--</g>--> <desc a=">"/>')),
    ],
    ['an SVG with thousands of nested elements', 'unsafe_file', svg('<g>'.repeat(9_000) + '</g>'.repeat(9_000))],
    ...Object.entries(COSTLY).map(
      ([what, inside]) => [`an SVG with ${what}`, 'unsafe_file', svg(inside)] as [string, string, Buffer],
    ),
    ['an SVG in UTF-16', 'unsupported_file', Buffer.from('\uFEFF<svg><script/></svg>', 'utf16le')],
    ['a huge SVG', 'unsupported_file', svg(' '.repeat(1_000_001))],
  ]

  test.each(cases)('%s: %s', async (...[_what, code, file, name]: (typeof cases)[number]) => {
    await expect(inspect(file, name)).rejects.toMatchObject({ code, message: expect.stringMatching(/^[A-Z].*\.$/) })
  })

  test.each([
    'a',
    '<a',
    '<!--',
    '<?',
    '<![CDATA[',
    '<style>',
    '<a d="1 ',
    'blur(',
    '<set ',
    '<!DOCTYPE',
    '<!DOCTYPE [',
    ' ',
    '"',
    '\\',
    '&#',
  ])('inspects an SVG of repeated %s in linear time', async (part) => {
    const started = process.cpuUsage()
    for (const begin of ['', ' href=', ' fill=url(', '<set attributeName=', '<b']) {
      await inspect(svg(begin + part.repeat(Math.floor(900_000 / part.length)) + '>')).catch(() => undefined)
    }
    const { system, user } = process.cpuUsage(started)
    expect(user + system).toBeLessThan(50_000_000)
  })

  test('refuses gigapixel images without decoding them', async () => {
    const started = process.cpuUsage()
    for (let count = 0; count < 100; count += 1) {
      await expect(inspect(pngHeader(30_000, 30_000))).rejects.toMatchObject({ code: 'image_too_large' })
    }
    // Decoding one of them takes seconds, so all would take minutes.
    expect(process.cpuUsage(started).user / 1e6).toBeLessThan(20)
  })
})

function boxes(...parts: [string, string | Buffer][]): Buffer {
  return Buffer.concat(
    parts.map(([name, content]) => {
      const body = typeof content === 'string' ? Buffer.from(content, 'latin1') : content
      const header = Buffer.alloc(8)
      header.writeUInt32BE(body.length + 8)
      header.write(name, 4, 'latin1')
      return Buffer.concat([header, body])
    }),
  )
}

function fragments(count: number): Buffer[] {
  return Array.from({ length: count }, () => boxes(['moof', 'f'], ['mdat', 'm']))
}

/** A WebM with 100 bytes of media, whose header declares this length. */
function matroska(length: Buffer): Buffer {
  const header = Buffer.from('1a45dfa3874282847765626d', 'hex')
  return Buffer.concat([header, Buffer.from('18538067', 'hex'), length, Buffer.alloc(100)])
}

/** A WAV of 1,000 bytes, whose header declares this length. */
function wav(length: number): Buffer {
  const file = Buffer.alloc(1_000)
  file.write('RIFF', 0)
  file.writeUInt32LE(length, 4)
  file.write('WAVEfmt ', 8)
  return file
}

/** A rectangle that is repeated ten times per level. */
function repeating(levels: number, noise = ''): string {
  const groups = Array.from({ length: levels }, (_, level) => {
    return `<g id="g${level + 1}">${noise}${`<use a=">" href="#g${level}"/>`.repeat(10)}</g>`
  })
  return `<defs><g id="g0"><rect width="1" height="1"/></g>${groups.join('')}</defs><use href="#g${levels}"/>`
}

/** Many references, each within many groups. */
function referring(): string {
  const groups = Array.from({ length: 200 }, (_, level) => `<g id="g${level}">`)
  return `${groups.join('')}<rect fill="${'url(#a)'.repeat(20_000)}"/>${'</g>'.repeat(200)}`
}

function embedded(image: Buffer): string {
  return `data:image/png;base64,${image.toString('base64')}`
}

/** A ZIP archive with one empty entry. @param comment the declared length of the comment that follows */
function zip(name: string, comment = 0): Buffer {
  const local = Buffer.alloc(30)
  local.writeUInt32LE(0x04034b50)
  local.writeUInt16LE(name.length, 26)
  const central = Buffer.alloc(46)
  central.writeUInt32LE(0x02014b50)
  central.writeUInt16LE(name.length, 28)
  const end = Buffer.alloc(22)
  end.writeUInt32LE(0x06054b50)
  end.writeUInt16LE(1, 8)
  end.writeUInt16LE(1, 10)
  end.writeUInt32LE(central.length + name.length, 12)
  end.writeUInt16LE(comment, 20)
  return Buffer.concat([local, Buffer.from(name), central, Buffer.from(name), end])
}

function pngHeader(width: number, height: number): Buffer {
  const file = Buffer.from(png)
  file.writeUInt32BE(width, 16)
  file.writeUInt32BE(height, 20)
  return file
}

function jpegHeader(width: number, height: number): Buffer {
  const file = Buffer.from(jpeg)
  const at = [0xc0, 0xc1, 0xc2].map((marker) => file.indexOf(Buffer.from([0xff, marker]))).find((index) => index > 0)
  file.writeUInt16BE(height, (at ?? 0) + 5)
  file.writeUInt16BE(width, (at ?? 0) + 7)
  return file
}

function gifHeader(width: number, height: number): Buffer {
  const file = Buffer.from(gif)
  file.writeUInt16LE(width, 6)
  file.writeUInt16LE(height, 8)
  return file
}

function webpHeader(width: number, height: number): Buffer {
  const file = Buffer.alloc(60)
  file.write('RIFF', 0)
  file.writeUInt32LE(52, 4)
  file.write('WEBPVP8X', 8)
  file.writeUInt32LE(10, 16)
  file.writeUIntLE(width - 1, 24, 3)
  file.writeUIntLE(height - 1, 27, 3)
  return file
}

function jpegComment(text: string): Buffer {
  const comment = Buffer.alloc(4 + text.length)
  comment.writeUInt16BE(0xfffe)
  comment.writeUInt16BE(text.length + 2, 2)
  comment.write(text, 4, 'latin1')
  return Buffer.concat([jpeg.subarray(0, 2), comment, jpeg.subarray(2)])
}
