"""The tables of the study: stays in intensive care with what was known of them after a day or two, and whether the patient died in hospital.

Standard library only. Cells are the text that a CSV file has; an empty one is missing.
"""
import csv
import dataclasses
import lzma
import os
import re
import tarfile


class Refused(SystemExit):
    """What was asked for would be wrong, or its files are not there; the text says why and what to do."""


# What is known only after the outcome, or is a prediction of it, by the names that the tables give it.
LEAKS = re.compile(r"(hospital|unit)discharge|^discharge|^actual|^unabridged|^predicted|^pred(vent)?days|diedinhospital|^apachescore$"
                   r"|^acutephysiologyscore$|^var03hspxlos$|in-hospital_death|^survival$|^length_of_stay$|^saps|^sofa$", re.IGNORECASE)


def refuse_leaks(columns):
    """Refuses columns that tell the outcome."""
    for name in columns:
        if LEAKS.search(name):
            raise Refused(f"column {name}: it is known only after the outcome, or is itself a score of it, so a model that reads it "
                          "would be judged too well; leave it out")


@dataclasses.dataclass
class Source:
    """Stays of one data set. Every list has an entry for each stay."""
    name: str
    columns: list  # names of the features
    stay: list  # its number in the data set
    rows: list  # cells by column
    died: list  # 1 or 0, in hospital
    patient: list  # whose stay it is: all stays of one patient go to one fold
    hospital: list  # where, or "" where the data do not say
    age: list  # years; above 89 the data say 90 or "> 89"
    scores: dict = dataclasses.field(default_factory=dict)  # {name of a clinical score: [number or None]}

    def taken(self, keep, name):
        """The stays whose entry of keep is true."""
        def of(values):
            return [value for value, kept in zip(values, keep, strict=True) if kept]
        return Source(name, self.columns, of(self.stay), of(self.rows), of(self.died), of(self.patient), of(self.hospital), of(self.age),
                      {score: of(values) for score, values in self.scores.items()})


def read_table(folder, name):
    """-> the lines of FOLDER/NAME.csv.xz as dictionaries by column."""
    path = os.path.join(folder, name + ".csv.xz")
    if not os.path.exists(path):
        raise Refused(f"{path} is not there: the study needs the eICU demo's tables as CSV files, compressed with xz")
    with lzma.open(path, "rt", encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


# ---- the eICU demo ---------------------------------------------------------------------------------------------------
# Worst values of the first day, and what the severity scores ask besides.
APACHE = ["intubated", "vent", "dialysis", "eyes", "motor", "verbal", "meds", "urine", "wbc", "temperature", "respiratoryrate", "sodium",
          "heartrate", "meanbp", "ph", "hematocrit", "creatinine", "albumin", "pao2", "pco2", "bun", "glucose", "bilirubin", "fio2"]
ADMISSION = ["gender", "admitsource", "graftcount", "admitdiagnosis", "thrombolytics", "aids", "hepaticfailure", "lymphoma",
             "metastaticcancer", "leukemia", "immunosuppression", "cirrhosis", "electivesurgery", "readmit", "ima", "midur", "ventday1",
             "oobventday1", "oobintubday1", "diabetes", "visitnumber", "amilocation"]
PATIENT = ["admissionheight", "admissionweight"]
VERSION = "IVa"


def years(text):
    """An age of the eICU demo; the oldest are given as "> 89"."""
    return 90.0 if text.startswith(">") else float(text) if text else None


def known(cell):
    """-1 is what APACHE's tables say where nothing was measured."""
    return "" if cell in ("-1", "-1.0") else cell


def number(cell):
    return float(cell) if known(cell) != "" else None


def eicu(folder, more=()):
    """Stays of the eICU demo with a result of APACHE IVa. more: further columns of its tables."""
    refuse_leaks(more)
    tables = {name: {row["patientunitstayid"]: row for row in read_table(folder, name)} for name in ("patient", "apacheapsvar", "apachepredvar")}
    results = [row for row in read_table(folder, "apachepatientresult") if row["apacheversion"] == VERSION]
    where = {column: "apacheapsvar" for column in APACHE} | {column: "apachepredvar" for column in ADMISSION}
    where |= {column: "patient" for column in PATIENT}
    for column in more:
        home = next((name for name, rows in tables.items() if column in next(iter(rows.values()))), None)
        if home is None:
            raise Refused(f"column {column}: none of the tables {', '.join(tables)} has it")
        where.setdefault(column, home)
    found = Source("eICU demo", ["age", *where], [], [], [], [], [], [], {"APACHE IVa": [], "APACHE score": []})
    for result in results:
        stay = result["patientunitstayid"]
        if not all(stay in rows for rows in tables.values()):
            continue
        patient = tables["patient"][stay]
        age = years(patient["age"])
        found.stay.append(stay)
        found.rows.append(["" if age is None else f"{age:g}", *(known(tables[home][stay][column]) for column, home in where.items())])
        found.died.append(int(result["actualhospitalmortality"] == "EXPIRED"))
        found.patient.append(patient["uniquepid"])
        found.hospital.append(patient["hospitalid"])
        found.age.append(age)
        found.scores["APACHE IVa"].append(number(result["predictedhospitalmortality"]))
        found.scores["APACHE score"].append(number(result["apachescore"]))
    return found


# ---- PhysioNet/CinC Challenge 2012 -----------------------------------------------------------------------------------
DESCRIPTORS = ["Age", "Gender", "Height", "ICUType"]
SUMMARIES = ["first", "last", "min", "max", "mean", "count"]


def series(text):
    """-> {name: [(minutes, value)]} of a stay's file; -1 is a value that was not measured."""
    found = {}
    for line in text.splitlines()[1:]:
        time, name, cell = line.split(",")
        value = float(cell)
        if value != -1.0 and name:
            found.setdefault(name, []).append((60 * int(time[:-3]) + int(time[-2:]), value))
    return found


def summaries(points):
    values = [value for _, value in points]
    if not values:
        return [""] * (len(SUMMARIES) - 1) + ["0"]
    figures = [values[0], values[-1], min(values), max(values), sum(values) / len(values), len(values)]
    return [f"{figure:.9g}" for figure in figures]


def physionet_stays(folder):
    """-> [(record, {name: points})] of set-a, by record."""
    path = os.path.join(folder, "set-a.tar.xz")
    if not os.path.exists(path):
        raise Refused(f"{path} is not there: the study needs set-a of the PhysioNet/CinC Challenge 2012 as one archive, and Outcomes-a.txt")
    with tarfile.open(path, "r:xz") as archive:
        stays = {}
        for member in archive:
            if member.isfile() and member.name.endswith(".txt"):
                stays[os.path.basename(member.name)[:-4]] = series(archive.extractfile(member).read().decode("ascii"))
    return sorted(stays.items())


def outcomes(folder):
    with open(os.path.join(folder, "Outcomes-a.txt"), encoding="ascii", newline="") as stream:
        return {row["RecordID"]: row for row in csv.DictReader(stream)}


def physionet(folder, stays):
    """stays: of physionet_stays. -> the stays of set-a: each series of the first two days by its first, last, least, largest and mean value, and its number of values."""
    results = outcomes(folder)
    names = sorted({name for _, found in stays for name in found} - {*DESCRIPTORS, "RecordID"})
    columns = DESCRIPTORS + [f"{name}_{what}" for name in names for what in SUMMARIES]
    refuse_leaks(columns)
    source = Source("PhysioNet 2012", columns, [], [], [], [], [], [], {"SAPS-I": [], "SOFA": []})
    for record, found in stays:
        own = [f"{found[name][0][1]:.9g}" if name in found else "" for name in DESCRIPTORS]
        source.stay.append(record)
        source.rows.append(own + [cell for name in names for cell in summaries(found.get(name, []))])
        source.died.append(int(results[record]["In-hospital_death"]))
        source.patient.append(record)  # the set has one stay a patient
        source.hospital.append("")
        source.age.append(found["Age"][0][1])
        source.scores["SAPS-I"].append(number(results[record]["SAPS-I"]))
        source.scores["SOFA"].append(number(results[record]["SOFA"]))
    return source
