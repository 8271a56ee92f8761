/**
 * Makes the prebuilt uWebSockets.js binary load on Linux hosts with a glibc older than 2.38 (Debian 12 has 2.36).
 *
 * The binaries are linked on a newer system and require version GLIBC_2.38 only because of up to three functions:
 * `__isoc23_strtol`, `__isoc23_strtoul` and `__isoc23_sscanf`, which is how a new compiler calls
 * `strtol`, `strtoul` and `sscanf`. The only difference is that the C23 functions also read `0b…` as a binary number,
 * which uWebSockets.js does not need. Two tables of the ELF file are edited in place, without moving anything:
 *
 * - `.dynsym`: every undefined symbol `__isoc23_x` is renamed to `x`, by moving its offset in the string table
 *   past the prefix.
 * - `.gnu.version_r`: the requirement "GLIBC_2.38 of libc.so.6" is replaced by the base version of the architecture, with
 *   which every glibc exports these three functions.
 *
 * Formats: ELF-64 (System V gABI, chapters 4 and 5) and symbol versioning (LSB Core specification).
 */
import { readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'

const ELF_MAGIC = 0x464c457f
const CLASS_64 = 2
const LITTLE_ENDIAN = 1
const SECTION_DYNSYM = 11
const SECTION_VERNEED = 0x6ffffffe
const SYMBOL_SIZE = 24
const UNDEFINED_SECTION = 0
const C23_PREFIX = '__isoc23_'
const TOO_NEW = 'GLIBC_2.38'

/**
 * The oldest glibc symbol version of each architecture, by `e_machine`. A wrong one would abort the process at symbol
 * lookup.
 */
const BASE_VERSIONS = new Map([
  [62, 'GLIBC_2.2.5'], // x86-64
  [183, 'GLIBC_2.17'], // AArch64
])

/**
 * Whether this process runs on a glibc older than 2.38.
 *
 * @returns {boolean} false on musl, macOS and Windows, where nothing needs to be relabeled
 */
export function needsRelabel() {
  if (process.platform !== 'linux') return false
  // Without this, the report resolves the host names of all open connections, which can take seconds.
  process.report.excludeNetwork = true
  const version = process.report.getReport().header.glibcVersionRuntime
  if (version === undefined) return false
  const [major = 0, minor = 0] = version.split('.').map(Number)
  return major < 2 || (major === 2 && minor < 38)
}

/**
 * Relabels one shared object. It writes a temporary file and renames it, so that no reader sees an incomplete file.
 * A second run changes nothing.
 *
 * @param {string} file path of a 64-bit little-endian ELF shared object
 * @returns {number} number of changed entries. With 0 the file was already compatible and was not written
 * @throws {Error} when the file is not such an ELF object
 */
export function relabel(file) {
  const bytes = readFileSync(file)
  const changed = relabelBytes(bytes)
  if (changed === 0) return 0
  const temporary = `${file}.${process.pid}.tmp`
  try {
    writeFileSync(temporary, bytes, { mode: statSync(file).mode & 0o777 })
    renameSync(temporary, file)
  } finally {
    rmSync(temporary, { force: true })
  }
  return changed
}

/** @param {Buffer} bytes the file's content, edited in place */
function relabelBytes(bytes) {
  if (bytes.length < 64 || bytes.readUInt32LE(0) !== ELF_MAGIC || bytes[4] !== CLASS_64 || bytes[5] !== LITTLE_ENDIAN) {
    throw new Error('not a 64-bit little-endian ELF file')
  }
  const machine = bytes.readUInt16LE(18)
  const base = BASE_VERSIONS.get(machine)
  if (base === undefined) throw new Error(`no known glibc base version for ELF machine ${machine}`)
  const sections = readSections(bytes)
  const symbols = sections.find((section) => section.type === SECTION_DYNSYM)
  const versions = sections.find((section) => section.type === SECTION_VERNEED)
  if (symbols === undefined || versions === undefined) throw new Error('not a dynamically linked ELF file')
  return renameSymbols(bytes, sections, symbols) + lowerRequirement(bytes, sections, versions, base)
}

/** @typedef {{ type: number, offset: number, size: number, link: number, info: number }} Section */

/** @param {Buffer} bytes @returns {Section[]} */
function readSections(bytes) {
  const start = readOffset(bytes, 40)
  const size = bytes.readUInt16LE(58)
  return Array.from({ length: bytes.readUInt16LE(60) }, (_, index) => {
    const at = start + index * size
    return {
      type: bytes.readUInt32LE(at + 4),
      offset: readOffset(bytes, at + 24),
      size: readOffset(bytes, at + 32),
      link: bytes.readUInt32LE(at + 40),
      info: bytes.readUInt32LE(at + 44),
    }
  })
}

/** Elf64_Sym: st_name u32, st_info u8, st_other u8, st_shndx u16, … */
function renameSymbols(bytes, sections, symbols) {
  const names = sections[symbols.link].offset
  let changed = 0
  for (let at = symbols.offset; at < symbols.offset + symbols.size; at += SYMBOL_SIZE) {
    const name = bytes.readUInt32LE(at)
    if (bytes.readUInt16LE(at + 6) !== UNDEFINED_SECTION || !readName(bytes, names + name).startsWith(C23_PREFIX)) {
      continue
    }
    bytes.writeUInt32LE(name + C23_PREFIX.length, at)
    changed++
  }
  return changed
}

/**
 * Elf64_Verneed: vn_version u16, vn_cnt u16, vn_file u32, vn_aux u32, vn_next u32;
 * Elf64_Vernaux: vna_hash u32, vna_flags u16, vna_other u16, vna_name u32, vna_next u32. All offsets are relative.
 */
function lowerRequirement(bytes, sections, versions, base) {
  const names = sections[versions.link].offset
  let changed = 0
  let library = versions.offset
  for (let index = 0; index < versions.info; index++) {
    if (readName(bytes, names + bytes.readUInt32LE(library + 4)) === 'libc.so.6') {
      let old
      let tooNew
      let entry = library + bytes.readUInt32LE(library + 8)
      for (let count = bytes.readUInt16LE(library + 2); count > 0; count--) {
        const version = readName(bytes, names + bytes.readUInt32LE(entry + 8))
        if (version === base) old = entry
        if (version === TOO_NEW) tooNew = entry
        entry += bytes.readUInt32LE(entry + 12)
      }
      if (old !== undefined && tooNew !== undefined) {
        bytes.writeUInt32LE(bytes.readUInt32LE(old + 8), tooNew + 8)
        bytes.writeUInt32LE(elfHash(base), tooNew)
        changed++
      }
    }
    library += bytes.readUInt32LE(library + 12)
  }
  return changed
}

/** The hash function of the System V gABI, by which the loader compares version names. */
function elfHash(name) {
  let hash = 0
  for (const byte of Buffer.from(name)) {
    hash = ((hash << 4) + byte) >>> 0
    const high = hash & 0xf0000000
    if (high !== 0) hash ^= high >>> 24
    hash = (hash & ~high) >>> 0
  }
  return hash
}

const readOffset = (bytes, at) => Number(bytes.readBigUInt64LE(at))
const readName = (bytes, at) => bytes.toString('latin1', at, bytes.indexOf(0, at))
