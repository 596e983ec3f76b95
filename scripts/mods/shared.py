"""The variables that both sources have, in one unit and by one rule: what APACHE takes of a first day."""
from mods import sources

DAY = 24 * 60  # minutes
# Of the values of a day the one that is furthest from here, the middle of what is normal (after APACHE III, Knaus 1991).
FROM = {"temperature": ("Temp", 38), "respiratoryrate": ("RespRate", 19), "heartrate": ("HR", 75), "sodium": ("Na", 145.5), "wbc": ("WBC", 11.5),
        "hematocrit": ("HCT", 45.5), "glucose": ("Glucose", 130), "albumin": ("Albumin", 13.5), "ph": ("pH", 7.4), "pco2": ("PaCO2", 40),
        "pao2": ("PaO2", 1000), "creatinine": ("Creatinine", 0), "bun": ("BUN", 0), "bilirubin": ("Bilirubin", 0)}
COLUMNS = ["age", "man", "height", "weight", "gcs", "urine", "meanbp", "fio2", "vent", *FROM]


def worst(points, middle):
    return max((value for _, value in points), key=lambda value: abs(value - middle), default="")


def of_physionet(whole, stays):
    """stays: of sources.physionet_stays, `whole` of them. -> set-a's stays by the variables that the eICU demo has of the first day. Its
    oxygen is a share, here in percent."""
    results = []
    for _, stay in stays:
        day = {name: [(minute, value) for minute, value in points if minute < DAY] for name, points in stay.items()}

        def first(name, day=day):
            return day[name][0][1] if day.get(name) else ""
        urine, breath = day.get("Urine", []), day.get("FiO2", [])
        pressure = day.get("MAP", []) + day.get("NIMAP", [])
        results.append([first("Age"), first("Gender"), first("Height"), first("Weight"), min((v for _, v in day.get("GCS", [])), default=""),
                        sum(v for _, v in urine) if urine else "", worst(pressure, 90), 100 * max(v for _, v in breath) if breath else "",
                        int(bool(day.get("MechVent"))), *(worst(day.get(name, []), middle) for name, middle in FROM.values())])
    return reduced(whole, results)


def of_eicu(folder):
    """The eICU demo's stays by the same variables: worst values of the first day as its APACHE tables have them."""
    whole = sources.eicu(folder, ("gender",))
    men = {row["patientunitstayid"]: row["gender"] for row in sources.read_table(folder, "patient")}
    at, results = {name: place for place, name in enumerate(whole.columns)}, []
    for stay, row in zip(whole.stay, whole.rows, strict=True):
        coma = [row[at[part]] for part in ("eyes", "motor", "verbal")]
        gcs = "" if "" in coma or row[at["meds"]] == "1" else sum(int(float(part)) for part in coma)
        man = {"Male": "1", "Female": "0"}.get(men[stay], "")
        results.append([row[at["age"]], man, row[at["admissionheight"]], row[at["admissionweight"]], gcs,
                        *(row[at[name]] for name in ("urine", "meanbp", "fio2", "vent", *FROM))])
    return reduced(whole, results)


def reduced(source, rows):
    return sources.Source(source.name, COLUMNS, source.stay, rows, source.died, source.patient, source.hospital, source.age, source.scores)
