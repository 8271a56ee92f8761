const { DatabaseSync } = require('node:sqlite')

/** The part of better-sqlite3 that the PDS and kysely use. */
class Statement {
  constructor(statement) {
    this.statement = statement
    this.reader = statement.columns().length > 0
  }

  all(...parameters) {
    return this.statement.all(...parameters.flat())
  }

  get(...parameters) {
    return this.statement.get(...parameters.flat())
  }

  run(...parameters) {
    return this.statement.run(...parameters.flat())
  }

  iterate(...parameters) {
    return this.statement.iterate(...parameters.flat())
  }
}

module.exports = class Database {
  constructor(file, { readonly = false, timeout = 5_000 } = {}) {
    this.database = new DatabaseSync(file, { timeout, readOnly: readonly })
    this.open = true
    this.name = file
  }

  prepare(sql) {
    return new Statement(this.database.prepare(sql))
  }

  exec(sql) {
    this.database.exec(sql)
    return this
  }

  pragma(text) {
    return this.database.prepare(`PRAGMA ${text}`).all()
  }

  close() {
    if (this.open) this.database.close()
    this.open = false
    return this
  }
}
