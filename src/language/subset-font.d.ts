/** The package has no types. https://www.npmjs.com/package/subset-font */
declare module 'subset-font' {
  export default function subsetFont(
    font: Buffer,
    text: string,
    options: {
      readonly targetFormat: 'sfnt' | 'truetype' | 'woff' | 'woff2'
      readonly variationAxes?: Readonly<Record<string, number>>
    },
  ): Promise<Buffer>
}
